"""The page of the formats: for each a sample answer and the events that the parser makes of it."""

import msgspec

from tokenmill.demo.tools import TOOLS
from tokenmill.events import Event
from tokenmill.formats import FORMATS
from tokenmill.gen import markdown
from tokenmill.library import Parser
from tokenmill.parser.spec import Format


def page() -> str:
    """Every format."""
    blocks = [block for format_ in FORMATS for block in _format(format_)]
    return markdown.page(
        "Formats",
        "A format is the grammar in which a model writes reasoning and tool calls.\n"
        "`parser.format` names the default, a message's `open` may name another or a list of several.\n"
        "Each sample is fed in one piece; however it is cut, merging adjacent deltas gives the same events.",
        markdown.table(
            ("format", "what it looks like", "models"),
            [(_link(format_.name), format_.summary, ", ".join(format_.models)) for format_ in FORMATS],
        ),
        *blocks,
    )


def _link(name: str) -> str:
    return f"[{markdown.code(name)}](#{name})"


def _format(format_: Format) -> list[str]:
    aliases = ", ".join(markdown.code(alias) for alias in format_.aliases)
    return [
        f"## `{format_.name}`",
        f"{format_.summary}{f' Also called {aliases}.' if aliases else ''}",
        markdown.fenced(format_.sample, "text"),
        markdown.fenced("\n".join(_events(format_)), "json"),
    ]


def _events(format_: Format) -> list[str]:
    parser = Parser(format_.name, TOOLS if format_.configured else None)
    events: list[Event] = [*parser.feed(format_.sample), *parser.finish()]
    return [msgspec.json.encode(event).decode() for event in events]
