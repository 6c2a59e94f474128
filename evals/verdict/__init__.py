"""`make verdict-bench`: real past bugs, their real fixes, and changes that only look like fixes."""
