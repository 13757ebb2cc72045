"""tokenmill: the raw token stream of a language model in, clean events out."""

from tokenmill.events import AnyEvent, Event
from tokenmill.library import Parser, render

__all__ = ["AnyEvent", "Event", "Parser", "render"]
