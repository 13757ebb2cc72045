"""Content of a message besides its text, in the neutral shape: parts of text, images, and what is refused of them."""

from collections.abc import Sequence

from tokenmill.apis.ask import BadAsk, Json
from tokenmill.apis.reading import Node, shown

SCHEMES = ("https://", "http://", "data:image/")
"""Beginnings of images' addresses. A file of the model's server is not allowed: a client could read what it may not."""

DETAILS = ("auto", "low", "high", "original")


def text_part(text: str) -> Json:
    """Return a part of a message that is text."""
    return {"type": "text", "text": text}


def image_part(url: str, detail: str | None = None) -> Json:
    """Return a part of a message that is an image."""
    return {"type": "image_url", "image_url": {"url": url} | ({"detail": detail} if detail else {})}


def image_address(node: Node) -> str:
    """Return the address of an image, or the image itself as a data URL."""
    url = node.filled()
    if not url[:16].lower().startswith(SCHEMES):
        raise node.bad(f"has to begin with one of {', '.join(SCHEMES)}, not {shown(url)}.")
    return url


def foreign_part(node: Node, known: Sequence[str]) -> BadAsk:
    """Return the refusal of a part with this type."""
    told = f"can't be {shown(node.text())}: it would not reach the model; known are {', '.join(known)}."
    return node.bad(told, "unsupported_value")


def plain(parts: list[Json]) -> str | list[Json]:
    """Return the content of these parts: a single text is a string, as every template reads it."""
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts
