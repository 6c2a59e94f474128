"""The agent: mini-swe-agent's loop in a child process of its own, which holds the key and nothing else."""
