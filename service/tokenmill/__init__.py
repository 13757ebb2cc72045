"""tokenmill: turns the raw token stream of a language model into clean events."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tokenmill.events import AnyEvent, Event
from tokenmill.library import Parser

if TYPE_CHECKING:
    from tokenmill.conversion import Conversion, convert, convert_async, options_for, render, sse

__all__ = [
    "AnyEvent",
    "Conversion",
    "Event",
    "Parser",
    "__version__",
    "convert",
    "convert_async",
    "options_for",
    "render",
    "sse",
]


def __getattr__(name: str) -> Any:
    """Import codecs, dialects and the package's metadata on first use: parsing needs none of them."""
    if name == "__version__":
        return import_module("importlib.metadata").version("tokenmill")
    if name in __all__:
        return getattr(import_module("tokenmill.conversion"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
