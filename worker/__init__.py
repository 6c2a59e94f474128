"""The resident loop that claims tasks, runs attempts and settles them."""
