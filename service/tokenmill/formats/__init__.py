"""The formats, one file each. A format is in use when it stands in this list."""

from functools import lru_cache

from tokenmill.errors import BadOpen
from tokenmill.formats.hermes import HERMES
from tokenmill.formats.plain import PLAIN
from tokenmill.formats.qwen3_xml import QWEN3_XML
from tokenmill.limits import Limits
from tokenmill.parser.grammar import Grammar, options_key
from tokenmill.parser.options import Options
from tokenmill.parser.spec import Format

FORMATS: tuple[Format, ...] = (PLAIN, HERMES, QWEN3_XML)

_BY_NAME = {name: format_ for format_ in FORMATS for name in (format_.name, *format_.aliases)}

GRAMMARS_KEPT = 512
"""Compiled grammars that are kept: one for each set of options in use; a tool list makes a few hundred KiB."""


def find_format(name: str) -> Format:
    """The format of this name or alias. Raises `BadOpen`."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise BadOpen(f"unknown format {name!r}; known are {', '.join(format_.name for format_ in FORMATS)}") from None


def compile_grammar(options: Options, limits: Limits | None = None) -> Grammar:
    """The grammar of these options, kept for the next message with the same. Raises `BadOpen` on an unknown format."""
    return _compiled(_Content(options), limits or Limits())


class _Content:
    """Options, compared by content: they hold lists and can't be hashed themselves."""

    __slots__ = ("key", "options")

    def __init__(self, options: Options) -> None:
        self.options = options
        self.key = options_key(options)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self.key == other.key


@lru_cache(maxsize=GRAMMARS_KEPT)
def _compiled(content: _Content, limits: Limits) -> Grammar:
    names = content.options.format
    formats = [find_format(name) for name in ([names] if isinstance(names, str) else names)]
    if not formats:
        raise BadOpen("option 'format': the list of formats is empty")
    return Grammar(content.options, formats, limits)
