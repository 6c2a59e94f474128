"""GitHub, on github.com or an Enterprise server, as a GitHub App. Import `plugin` only: it is light."""
