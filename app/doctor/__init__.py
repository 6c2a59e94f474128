"""`fixwright doctor`: everything that the service needs, looked at without changing it."""
