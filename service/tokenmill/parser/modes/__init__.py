"""Modes: what a stretch of the stream is, and which markers lead out of it. One kind of mode a file."""
