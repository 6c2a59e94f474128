"""Bringing the service to a host: the commands for it, in the right order."""
