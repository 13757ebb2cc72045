"""Reasoning alone, for models without tools and servers that parse the calls themselves.

The opening of a call ends the reasoning and stays in place: models call without closing their reasoning.
"""

from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Region

THINK = Format(
    name="think",
    summary="Reasoning in `<think>`, no calls.",
    sample="<think>The capital is asked for.</think>The capital of France is Paris.",
    models=("Holo2", "Phi-4*reasoning"),
    aliases=("deepseek_r1", "deepseek-r1", "qwen3", "qwen3-thinking", "olmo3_think", "holo2"),
    regions=(
        Region(
            marker("<think>"),
            marker("</think>"),
            before=marker("<tool_call>", "<tool_calls>", "<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
        ),
    ),
)
