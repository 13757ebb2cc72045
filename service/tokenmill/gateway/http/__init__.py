"""What all of our HTTP servers have in common, whatever their routes do: bounds, errors, CORS, TLS, bodies."""
