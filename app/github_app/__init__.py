"""The GitHub App from nothing: made by a manifest, its keys kept in the data directory."""
