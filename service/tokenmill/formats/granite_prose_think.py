"""Reasoning between two sentences of prose. Text that quotes them is taken for reasoning: there are no other marks."""

from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Region

GRANITE_PROSE_THINK = Format(
    name="granite_prose_think",
    summary="Reasoning between `Here is my thought process:` and `Here is my response:`, no calls.",
    sample=(
        "Here is my thought process: The capital is asked for.\nHere is my response: The capital of France is Paris."
    ),
    models=("Granite-3.2*preview",),
    aliases=("granite_reasoning",),
    regions=(
        Region(
            marker("Here is my thought process:", "Here's my thought process:"),
            marker("Here is my response:", "Here's my response:"),
        ),
    ),
    strays=(),
)
