"""The formats of AutoByteUs's streaming parsers, and the segments that they publish."""
