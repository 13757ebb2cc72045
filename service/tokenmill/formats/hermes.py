"""One JSON object per call, in a pair of tags; reasoning in a layer of its own.

The object may stand on lines of its own, and several in a list. The closing tag may be missing at the end of the
stream: a complete object is a complete call. Models of this family sometimes close one bracket too many. A call inside
the reasoning is a draft; models that call there write `qwen3_json`.
"""

from tokenmill.formats.notations import NAME_ARGUMENTS, TOOL_RESPONSE, json_history
from tokenmill.formats.shapes import THINK, json_pairs
from tokenmill.parser.spec import Format

HERMES = Format(
    name="hermes",
    summary="One JSON object with name and arguments in each `<tool_call>` pair.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>'
    ),
    models=(
        "Hermes-2",
        "Hermes-3",
        "Hermes-4*",
        "DeepHermes-3",
        "Qwen2.5",
        "Granite-4*",
        "MiMo",
        "Reka-Edge",
        "SmolLM3",
        "EXAONE-4*",
        "K-EXAONE",
        "Jan-nano",
        "Bielik",
        "Cogito",
        "Ling-1T",
        "Ling-2.*",
        "Ling-flash-2.*",
        "Ling-mini-2.*",
        "Ring-1T",
        "Ring-2.*",
        "Ring-flash-2.*",
        "Ring-mini-2.*",
    ),
    aliases=("qwen", "qwen25", "granite4"),
    history=json_history(f"<tool_call>\n{NAME_ARGUMENTS}\n</tool_call>", TOOL_RESPONSE),
    regions=(THINK,),
    sections=(json_pairs("tool_call"),),
)
