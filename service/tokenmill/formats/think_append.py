"""Reasoning left in the visible text, after the opening that the prompt ended with, which is put back.

For clients that show the reasoning themselves or send it back unchanged.
"""

from tokenmill.parser.spec import Format

THINK_APPEND = Format(
    name="think_append",
    summary="Reasoning stays in the text; the `<think>` that the prompt ended with is put back.",
    sample="The capital is asked for.</think>The capital of France is Paris.",
    aliases=("minimax_m2_append_think", "minimax-append-think"),
    prompt="<think>",
)
