"""The guard: what a change may not do, whoever made it. One pure module per rule."""
