"""The commands about tasks: list, show, export, retry, cancel, and replay of a delivery."""
