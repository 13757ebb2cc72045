"""Patterns with `*`, as keys and policies have them: of conversations, of tools, of arguments."""


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern stands for a text. Whatever the pattern, a text is looked at once: models write it."""
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
