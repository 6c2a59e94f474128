"""Tests that stand inside of source files: where they are, and a source with the tests of another version."""
