"""The pages of the formats, made from their data and by the parser itself, and the index."""

from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from tokenmill.demo.tools import TOOLS
from tokenmill.formats import FORMATS
from tokenmill.formats.history import format_call, format_result
from tokenmill.gen import markdown
from tokenmill.gen.diagram import diagram
from tokenmill.gen.parts import Part, parts, spelled
from tokenmill.library import Parser
from tokenmill.parser.markers import Marker
from tokenmill.parser.spec import Format, strays_of

_SHOWN = frozenset({"name", "summary", "sample", "models", "aliases"})
"""Fields of a format that are elsewhere on its page."""


def page() -> str:
    """Return the index."""
    return markdown.page(
        "Formats",
        "A format is the grammar in which a model writes reasoning and tool calls.\n"
        "`parser.format` names the default, a message's `open` may name another or a list of several.\n"
        "Other servers' names for their parsers work, too.",
        markdown.table(
            ("format", "what it looks like", "models", "also called"),
            [
                (
                    f"[{markdown.code(format_.name)}](formats/{format_.name}.md)",
                    format_.summary,
                    ", ".join(format_.models).replace("*", r"\*"),
                    _codes(format_.aliases),
                )
                for format_ in FORMATS
            ],
        ),
        "Which one a model writes: [by its name or its chat template](../howto/find-the-format-of-a-model.md).\n"
        "For a model that writes none of them: [add a format](../howto/add-a-format.md).",
    )


def pages() -> dict[str, Callable[[], str]]:
    """Return, for the file of each format's page in the folder beside the index, the function that makes its text."""
    return {f"{format_.name}.md": partial(format_page, format_) for format_ in FORMATS}


def format_page(format_: Format) -> str:
    """Return the page of one format."""
    found = list(parts(msgspec.structs.replace(format_, history=None, strays=strays_of(format_) or None)))
    own = [part for part in found if not part.where and not isinstance(part.value, Marker) and part.name not in _SHOWN]
    grammar = [part for part in found if part.where and not isinstance(part.value, Marker)]
    return markdown.page(
        markdown.code(format_.name),
        format_.summary,
        "\n".join(_known_as(format_)),
        "## Sample",
        "An answer as the model writes it, and the events that the parser makes from it if it comes in one piece.\n"
        "However it is cut, merging adjacent deltas gives the same events.",
        markdown.fenced(format_.sample, "text"),
        markdown.fenced("\n".join(_events(format_)), "json"),
        *_history(format_),
        *_section("Defaults of its own", "A message's options override them.", own, ("option", "value")),
        *_section("Grammar", "The parser's data besides the markers.", grammar, ("part", "what", "value")),
        *_section(
            "Markers",
            "All spellings of each. The option `markers_suffix` is appended to the names of tags.",
            [part for part in found if isinstance(part.value, Marker)],
            ("part", "what", "marker"),
        ),
        "## States",
        _about_states(format_),
        markdown.fenced(diagram(format_), "mermaid"),
    )


def _about_states(format_: Format) -> str:
    """Return how to read the diagram."""
    said = "Labels are markers; `…` stands for more spellings. In parentheses: a state's name in `parse --step`."
    return f"{said}\nHeader numbers are those of the routes above." if format_.channels else said


def _history(format_: Format) -> list[str]:
    """Return how a call and its result appear in a history, unless the format has no calls."""
    if format_.history is None:
        return []
    shown = [
        format_call(format_, "get_weather", {"city": "Paris", "days": 3}),
        format_result(format_, "get_weather", "18 °C"),
    ]
    return ["## In a history", "A call and its result, as the next request shows them to the model."] + [
        markdown.fenced(text, "text") for text in shown
    ]


def _known_as(format_: Format) -> Iterable[str]:
    if format_.models:
        yield f"- Models: {_codes(format_.models)}"
    if format_.aliases:
        yield f"- Also called: {_codes(format_.aliases)}"
    yield "- All formats: [index](../formats.md)"


def _codes(names: Iterable[str]) -> str:
    return ", ".join(markdown.code(name) for name in names)


def _section(title: str, about: str, found: list[Part], columns: tuple[str, ...]) -> list[str]:
    """Return a table of parts, unless there are none."""
    rows = [
        (part.where, markdown.code(part.name), _value(part.value), part.meaning)[-len(columns) - 1 :] for part in found
    ]
    return [f"## {title}", about, markdown.table((*columns, "meaning"), rows)] if rows else []


def _value(value: object) -> str:
    if isinstance(value, Marker):
        return spelled(value)
    if callable(value):
        return "a function of the options"
    return markdown.code(value.replace("\n", r"\n") if isinstance(value, str) else msgspec.json.encode(value).decode())


def _events(format_: Format) -> list[str]:
    parser = Parser(format_.name, TOOLS, identity="")
    start, *rest = [*parser.feed(format_.sample), *parser.finish()]
    events = [msgspec.structs.replace(start, request=msgspec.UNSET), *rest]  # it is the same on all pages
    return [msgspec.json.encode(event).decode() for event in events]
