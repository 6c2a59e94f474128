"""Where commands of the agent, and of verification, run: isolated, limited, and gone when they end."""
