"""The common parts of all our HTTP servers, whatever their routes do: bounds, errors, CORS, TLS, bodies."""
