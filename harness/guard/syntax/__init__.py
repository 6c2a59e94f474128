"""Languages other than Python, read through tree-sitter: grammars, one table per language, units, signs."""
