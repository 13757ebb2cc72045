"""A list of calls behind a word; its own bracket closes it."""

from tokenmill.formats.shapes import json_list
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format

FIREFUNCTION = Format(
    name="firefunction",
    summary="A JSON list of calls behind ` functools`.",
    sample='I\'ll look it up. functools[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]',
    models=("FireFunction-v2",),
    sections=(json_list(marker("functools[")),),
)
