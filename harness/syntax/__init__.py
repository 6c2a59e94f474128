"""Syntax trees by grammar, for every room that reads source."""
