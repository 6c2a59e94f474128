"""`fixwright eval`: ground truth from a repository's own history, and what models make of it."""
