"""Brackets that nest, followed by the characters that open and close them."""

from collections.abc import Iterable

from tokenmill.limits import JSON_DEPTH

_OPENERS = {")": "(", "]": "[", "}": "{"}


def nested(stack: str, signs: Iterable[str]) -> str | None:
    """The open brackets after these signs; None if one is no bracket, closes the outermost or does not match."""
    for sign in signs:
        if sign in "([{" and len(stack) < JSON_DEPTH - 1:
            stack += sign
        elif len(stack) > 1 and stack[-1] == _OPENERS.get(sign):
            stack = stack[:-1]
        else:
            return None
    return stack
