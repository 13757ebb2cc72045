"""Authenticates clients, decides what each may do, and limits connections: keys, JSON Web Tokens, tickets."""
