"""Reasoning left in the visible text, with the opening that the prompt ended with put back in front of it.

For clients that show the reasoning themselves or send it back as it was.
"""

from tokenmill.parser.spec import Format

THINK_APPEND = Format(
    name="think_append",
    summary="Reasoning stays in the text; the `<think>` that the prompt ended with is put back.",
    sample="The capital is asked for.</think>The capital of France is Paris.",
    aliases=("minimax_m2_append_think", "minimax-append-think"),
    prompt="<think>",
)
