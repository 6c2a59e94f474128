"""Kills the worker everywhere, starts it again, and checks that nothing was lost, doubled or overspent."""
