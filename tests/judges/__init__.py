"""Clients of others read what the dialects write, over HTTP: the judges of the wire shapes."""
