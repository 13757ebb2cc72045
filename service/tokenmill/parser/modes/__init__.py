"""Modes: what a stretch of the stream is, and which markers lead out of it. One kind of mode a file.

That of a channel's header is in `compile.channels`, beside the compiler of the modes to which headers lead. JSON in
running text, as in an answer that is one object, is read by `strict_scan`.
"""
