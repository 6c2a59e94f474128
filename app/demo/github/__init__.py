"""A GitHub on loopback: the embedded forge behind GitHub's own API, for the demo and for tests."""
