"""The page of the input codecs."""

from collections.abc import Sequence

from tokenmill.codecs import CODECS
from tokenmill.gen import markdown
from tokenmill.records import InputRecord


def page() -> str:
    """Return the page, with every codec and the records of a short message."""
    blocks = []
    for codec in CODECS:
        blocks += [f"## `{codec.name}`", f"{codec.summary}.", _records(codec.sample)]
    return markdown.page(
        "Codecs",
        "A codec turns the bytes of an input record into chunks.\n"
        "`parser.codec` names the one of the topic `tokens`; a record's header `tm-codec` overrides it.",
        *blocks,
    )


def _records(records: Sequence[InputRecord]) -> str:
    rows = [
        (
            markdown.code(_text(record.key)),
            ", ".join(markdown.code(f"{name}: {_text(value)}") for name, value in record.headers),
            markdown.code(_text(record.value)),
        )
        for record in records
    ]
    return markdown.table(("key", "headers", "value"), rows)


def _text(value: bytes | None) -> str:
    return "null" if value is None else value.decode("utf-8", "backslashreplace")
