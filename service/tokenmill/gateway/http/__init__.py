"""What every HTTP server of ours has in common, whatever its routes do: bounds, errors, CORS, TLS, bodies."""
