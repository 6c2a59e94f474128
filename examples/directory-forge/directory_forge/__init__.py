"""A forge that is a directory: Markdown files beside bare git repositories."""
