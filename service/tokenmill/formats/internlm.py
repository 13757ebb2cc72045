"""One JSON object per call after a pair of special tokens."""

from tokenmill.formats.notations import NAME_PARAMETERS, json_history
from tokenmill.formats.shapes import THINK, json_calls
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format

INTERNLM = Format(
    name="internlm",
    summary="One JSON object between `<|action_start|><|plugin|>` and `<|action_end|>`.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        '<|action_start|><|plugin|>\n{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}<|action_end|>'
    ),
    models=("InternLM2", "InternLM2.5", "InternLM3", "Intern-S1"),
    aliases=("interns1",),
    history=json_history(f"<|action_start|><|plugin|>\n{NAME_PARAMETERS}<|action_end|>"),
    regions=(THINK,),
    sections=(
        json_calls(
            marker("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>", "<|action_start|>\n<|plugin|>"),
            marker("<|action_end|>"),
        ),
    ),
)
