"""The HTTP API for programs: runs, their streams, spend and deliveries, under /api/v1."""
