"""`fixwright solve`: the whole pipeline for one issue from a terminal, without a service."""
