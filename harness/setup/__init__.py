"""The set-up phase: what a repository's tests need is installed once, before any issue text enters."""
