"""A checkpoint's own declaration: the `response_template` of its tokenizer, as transformers reads it.

The option `response_template` contains it. Without one the format is what most of them declare: reasoning in `<think>`,
and one JSON object with name and arguments in each `<tool_call>`.
"""

from tokenmill.formats.notations import NAME_ARGUMENTS, TOOL_RESPONSE, json_history
from tokenmill.formats.response_template import compile_template
from tokenmill.formats.shapes import THINK, json_pairs
from tokenmill.parser.markers import marker
from tokenmill.parser.options import Options
from tokenmill.parser.spec import Format


def _configured(format_: Format, options: Options) -> Format:
    """Return the format with the markers of the template, if there is one."""
    return compile_template(format_, options.response_template) if options.response_template else format_


HF = Format(
    name="hf",
    summary="What the option `response_template` declares, as checkpoints ship it; else JSON in `<tool_call>`.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>'
    ),
    aliases=("response_template",),
    history=json_history(f"<tool_call>\n{NAME_ARGUMENTS}\n</tool_call>", TOOL_RESPONSE),
    regions=(THINK,),
    noise=(marker("<|im_end|>"),),
    sections=(json_pairs("tool_call"),),
    configured=_configured,
)
