"""The parser core: pure, incremental, and the same for every format."""

from tokenmill.parser.compile.grammar import Grammar, options_key
from tokenmill.parser.options import Options, read_options
from tokenmill.parser.parser import MessageParser
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.spec import Call, Channels, Format, Header, Region, Route, Section

__all__ = [
    "Call",
    "Channels",
    "Format",
    "Grammar",
    "Header",
    "MessageParser",
    "Options",
    "Region",
    "Route",
    "Rules",
    "Section",
    "options_key",
    "read_options",
]
