"""Finding a repository's tests, running them, and reading what they say."""
