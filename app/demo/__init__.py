"""The demo: the real service on a small forge of its own, with people and a model that play a script."""
