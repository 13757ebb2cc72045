"""A list of calls after a word; its own bracket closes it. A single object may stand there without a list."""

from tokenmill.formats.notations import NAME_ARGUMENTS, json_history
from tokenmill.formats.shapes import json_list, json_object
from tokenmill.parser.markers import ahead, marker
from tokenmill.parser.spec import Format

PHI4MINI = Format(
    name="phi4mini",
    summary="A JSON list of calls after `functools`.",
    sample='I\'ll look it up.\nfunctools[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]',
    models=("Phi-4-mini",),
    aliases=("phi4_mini_json",),
    history=json_history(f"functools[{NAME_ARGUMENTS}]"),
    sections=(json_list(marker("functools[", "functools [")), json_object(marker("functools", ahead=(ahead(" {"),)))),
)
