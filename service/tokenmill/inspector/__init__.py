"""The inspector: what the parser makes of a text, piece by piece, and a page that shows it."""
