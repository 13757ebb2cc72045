"""Tagged function and parameters; the tool's schema gives the values their types.

A call inside reasoning ends it.
"""

from tokenmill.formats.functions import functions
from tokenmill.formats.notations import TOOL_RESPONSE, tags_history
from tokenmill.formats.shapes import THINK
from tokenmill.parser.spec import Format

QWEN3_XML = Format(
    name="qwen3_xml",
    summary="`<function=NAME>` with `<parameter=KEY>` values inside a `<tool_call>` pair.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n"
        "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>"
    ),
    models=(
        "Qwen3-Coder",
        "Qwen3.*",
        "Nemotron-3",
        "Nemotron-3.*",
        "Granite-4.2",
        "Step-3.5",
        "Step-3.7",
        "MiniCPM-V",
        "Nanbeige",
        "Ornith",
    ),
    aliases=(
        "qwen3_coder",
        "nemotron_v3",
        "nemotron_3",
        "granite_thinking_parser",
        "step3p5",
        "step5",
        "minicpmv",
        "nanbeige",
    ),
    history=tags_history(
        "<tool_call>\n<function=$name>\n$arguments</function>\n</tool_call>",
        "<parameter=$key>\n$value\n</parameter>\n",
        TOOL_RESPONSE,
    ),
    regions=(THINK,),
    sections=(functions("tool_call", quoted=True),),
    calls_in_reasoning="honour",
)
