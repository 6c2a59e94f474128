"""The embedded forge: bare git repositories and one SQLite file, a small world that is complete."""
