"""`fixwright mcp`: what the harness knows of a repository, as tools of the Model Context Protocol."""
