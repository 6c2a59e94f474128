"""The product's words and decisions, pure: no I/O, nothing but values in and values out."""
