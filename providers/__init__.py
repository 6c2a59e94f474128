"""Forges as plugins; each speaks one forge's language and none knows git."""
