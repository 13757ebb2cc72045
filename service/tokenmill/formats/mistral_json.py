"""A list of calls, each with the model's own id if it writes one; for tokenizers before v11."""

from tokenmill.formats.notations import json_history
from tokenmill.formats.shapes import json_list
from tokenmill.parser.bodies import JsonCall
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format

MISTRAL_JSON = Format(
    name="mistral_json",
    summary="A JSON list of calls after `[TOOL_CALLS]`.",
    sample=(
        "I'll look it up."
        '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}, "id": "a1B2c3D4e"}]'
    ),
    models=(
        "Mistral-7B",
        "Mixtral-8x22B",
        "Mistral-Nemo",
        "Mistral-Large*2407",
        "Mistral-Large*2411",
        "Mistral-Small*2409",
        "Mistral-Small*2501",
        "Mistral-Small-3.1",
        "Ministral*2410",
        "Pixtral",
    ),
    history=json_history(
        '[TOOL_CALLS] [{"name": $quoted, "arguments": $arguments, "id": "$id"}]',
        '[TOOL_RESULTS]{"content": $json, "call_id": "$id"}[/TOOL_RESULTS]',
    ),
    sections=(json_list(marker("[TOOL_CALLS]"), JsonCall(id=("id",))),),
)
