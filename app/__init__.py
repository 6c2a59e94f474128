"""The two processes, the command line and the wiring."""
