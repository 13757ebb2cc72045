"""Patterns with `*` in keys and policies, for conversations, tools and arguments."""


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern matches a text. Any pattern passes over the text only once, because models write it."""
    first, *others = pattern.split("*")
    if not others:
        return pattern == text
    *between, last = others
    end = len(text) - len(last)
    at = len(first)
    if at > end or not (text.startswith(first) and text.endswith(last)):
        return False
    for piece in between:
        at = text.find(piece, at, end) + len(piece)
        if at < len(piece):
            return False
    return True
