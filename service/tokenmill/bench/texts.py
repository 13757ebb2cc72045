"""The benchmarks' texts: running text, and a tool call of any length in each grammar of calls.

A call is grown from a format's own sample: one of its arguments is made as long as requested. So nothing here depends
on how a format writes, and a new grammar in the list of formats is measured without any change here.
"""

import re
from functools import cache
from typing import NamedTuple

from tokenmill.events import ToolCall, ToolInputDelta
from tokenmill.formats import FORMATS
from tokenmill.library import Parser
from tokenmill.parser.bodies import Body, JsonArguments, JsonCall, JsonKeyed, Literals, Params, PyCalls, Tree
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Section

CHUNK_CHARS = 4
"""Characters in a chunk: about one token."""

PLAIN = "The quick brown fox jumps over the lazy dog, again and again. "

RICH = "If a < b and <b>c</b> < d, then [1] {x} is a `<tool>`, as f(x) says. "
"""Characters with which markers begin, but no marker."""

FILE = "def area(r):\n    return 3.14 * r * r  # of a circle\n"
"""A file, which is what agents write most."""

CODE = "if (a < b[0]) { printf(\"<p>%s</p>\\n\", 'x'); }\n"
"""Text with every character that bodies look for: quotes, brackets, escapes, tags."""

RUNNING = {"plain text": PLAIN, "text with signs": RICH}
"""Text without a call, by name."""

PAGES = {"a file": FILE, "code with tags": CODE}
"""The content of the long argument, by name."""

TOOL = "get_weather"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": TOOL,
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            },
        },
    },
]
"""The tool that the samples call, and its list."""

_NAMES: dict[type, str] = {
    JsonArguments: "json_args",
    JsonKeyed: "json_keyed",
    Literals: "literal",
    PyCalls: "pycalls",
    Tree: "tree",
}


class Sample(NamedTuple):
    """A format's sample, open in the middle of an argument."""

    format_name: str
    before: str
    after: str
    quote: str
    """The quote around the argument, escaped in it like backslashes and newlines; empty if there is none."""
    calls: int
    """Calls that the sample makes."""


def grammar_of(section: Section | None, body: Body) -> str:
    """Return the name of the grammar in which a call is written."""
    if isinstance(body, JsonCall):
        return "json_array" if section is not None and section.close == marker("]") else "json_call"
    if isinstance(body, Params):
        return "pairs" if "<" in body.tag_end.spellings[0] else "params"
    return _NAMES.get(type(body)) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(body).__name__).lower()


def grammars_of(format_: Format) -> set[str]:
    """Return the grammars of a format."""
    routes = format_.channels.routes if format_.channels else ()
    sections = [*format_.sections, *(route.to for route in routes if isinstance(route.to, Section))]
    direct = {grammar_of(None, route.to) for route in routes if not isinstance(route.to, str | Section)}
    return direct | {grammar_of(section, call.body) for section in sections for call in section.calls}


@cache
def samples() -> dict[str, Sample]:
    """Return the sample for each grammar: of formats with no other grammar, that of the most models."""
    alone: dict[str, list[Format]] = {}
    for format_ in FORMATS:
        if len(found := grammars_of(format_)) == 1:
            alone.setdefault(found.pop(), []).append(format_)
    return {
        grammar: sample_of(max(formats, key=lambda format_: len(format_.models) + len(format_.aliases)))
        for grammar, formats in sorted(alone.items())
    }


def sample_of(format_: Format) -> Sample:
    """Return a format's sample, open in the middle of its first text argument."""
    parser = Parser(format_.name, TOOLS, identity="")
    events = parser.feed(format_.sample) + parser.finish()
    calls = [event for event in events if isinstance(event, ToolCall)]
    value = next(value for value in calls[0].arguments.values() if isinstance(value, str))
    source = "".join(event.delta for event in events if isinstance(event, ToolInputDelta) and event.id == calls[0].id)
    at = format_.sample.index(source) + source.index(value) + 1
    sign = format_.sample[at - 2]
    quote = sign if sign in "\"'" else ""
    return Sample(format_.name, format_.sample[:at], format_.sample[at:], quote, len(calls))


def call_text(sample: Sample, page: str, chars: int) -> str:
    """Return the sample with an argument of at least `chars` more characters of source text, in whole pages."""
    if sample.quote:
        page = page.replace("\\", "\\\\").replace(sample.quote, f"\\{sample.quote}").replace("\n", "\\n")
    return sample.before + page * -(-chars // len(page)) + sample.after


def running_text(line: str, chars: int) -> str:
    """Return `chars` characters of prose, line after line."""
    return (line * (chars // len(line) + 1))[:chars]


def chunks_of(text: str, chars: int = CHUNK_CHARS) -> list[str]:
    """Return the text in chunks of `chars` characters."""
    return [text[at : at + chars] for at in range(0, len(text), chars)]
