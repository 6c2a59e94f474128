"""Benchmarks over the harness, offline."""
