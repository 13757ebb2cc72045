"""A list of objects with the tool's name as the only key; a call may come inside the reasoning and ends it."""

from tokenmill.formats.notations import json_history
from tokenmill.formats.shapes import json_calls
from tokenmill.parser.bodies import JsonKeyed
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Region

APERTUS = Format(
    name="apertus",
    summary='A JSON list of `{"NAME": {arguments}}` between `<|tools_prefix|>` and `<|tools_suffix|>`.',
    sample=(
        "<|inner_prefix|>I need the forecast.<|inner_suffix|>I'll look it up.\n"
        '<|tools_prefix|>[{"get_weather": {"city": "Paris", "days": 3}}]<|tools_suffix|>'
    ),
    models=("Apertus",),
    aliases=("apertus2509",),
    history=json_history("<|tools_prefix|>[{$quoted: $arguments}]<|tools_suffix|>", "[$result]"),
    regions=(Region(marker("<|inner_prefix|>"), marker("<|inner_suffix|>"), again="reasoning"),),
    sections=(json_calls(marker("<|tools_prefix|>"), marker("<|tools_suffix|>"), JsonKeyed()),),
    calls_in_reasoning="honour",
)
