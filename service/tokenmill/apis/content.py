"""Content of a message besides its text, in the neutral shape: parts of text, images, and what is refused of them."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from tokenmill.apis.ask import Json
from tokenmill.apis.reading import Node, shown

SCHEMES = ("https://", "http://", "data:image/")
"""Beginnings of images' addresses. A file of the model's server is not allowed: a client could read what it may not."""

_Read = TypeVar("_Read")

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


def read_part(node: Node, parts: Mapping[str, Callable[[Node], _Read]]) -> _Read:
    """Return what the reader of this part's type makes of it."""
    kind = node.need("type")
    if (read := parts.get(kind.text())) is None:
        told = f"can't be {shown(kind.text())}: it would not reach the model; known are {', '.join(parts)}."
        raise kind.bad(told, "unsupported_value")
    return read(node)


def read_parts(node: Node, parts: Mapping[str, Callable[[Node], _Read]], called: str = "parts") -> list[_Read]:
    """Return what the readers make of the parts of a content that is not a string."""
    if not isinstance(node.value, list):
        raise node.unfit(f"a string or a list of {called}")
    return [read_part(part, parts) for part in node.some()]


def plain(parts: list[Json]) -> str | list[Json]:
    """Return the content of these parts: a single text is a string, as every template reads it."""
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts
