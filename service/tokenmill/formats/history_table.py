"""One line for each format: how a call and its result are written."""

from tokenmill.formats.notations import Elements, Json, Literal, Marked, Python, Tags
from tokenmill.parser.spec import History

_NAME_ARGUMENTS = '{"name": $quoted, "arguments": $arguments}'
_NAME_PARAMETERS = '{"name": $quoted, "parameters": $arguments}'
_RESPONSE = "<tool_response>\n$result\n</tool_response>"
_OUTPUT = "<｜tool▁output▁begin｜>$result<｜tool▁output▁end｜>"
_MISTRAL = '[TOOL_RESULTS]{"content": $json, "call_id": "$id"}[/TOOL_RESULTS]'
_OBSERVED = "<|observation|>\n<tool_response>\n$result\n</tool_response>"
_ROLE = "$result"
"""The turn of the tool's role, and nothing else."""


def _json(call: str, result: str = _ROLE) -> History:
    return History(call, result, Json())


def _tags(call: str, template: str, result: str = _ROLE) -> History:
    return History(call, result, Tags(template))


def _python(call: str, result: str = _ROLE) -> History:
    return History(call, result, Python())


_PARAMETER = '<parameter name="$key">$value</parameter>'
_PAIR = "<arg_key>$key</arg_key>\n<arg_value>$value</arg_value>\n"

HISTORY: dict[str, History] = {
    "apertus": _json("<|tools_prefix|>[{$quoted: $arguments}]<|tools_suffix|>", "[$result]"),
    "apriel": _json(f"<tool_calls>[{_NAME_ARGUMENTS}]</tool_calls>"),
    "autobyteus_json": _json('{"tool": {"function": $quoted, "parameters": $arguments}}'),
    "autobyteus_sentinel": _json(
        f'[[SEG_START {{"type": "tool", "tool_name": $quoted}}]]{_NAME_ARGUMENTS}[[SEG_END]]'
    ),
    "autobyteus_xml": _tags(
        '<tool name="$name"><arguments>$arguments</arguments></tool>', '<arg name="$key">$value</arg>'
    ),
    "bare_json": _json('{"tool": $quoted, "params": $arguments}'),
    "beam": _tags(
        "<|start|>assistant to=$name<|channel|>analysis <|constrain|>xml<|message|>$arguments<|call|>",
        '<rfl:parameter name="$key">\n$value\n</rfl:parameter>\n',
    ),
    "cohere_action": _json(
        '<|START_ACTION|>[\n    {"tool_call_id": "$id", "tool_name": $quoted, "parameters": $arguments}\n]'
        "<|END_ACTION|>",
        '<|START_TOOL_RESULT|>[\n    {"tool_call_id": "$id", "results": {"0": $json}}\n]<|END_TOOL_RESULT|>',
    ),
    "command_r_action": _json(
        'Action:\n```json\n[\n    {"tool_name": $quoted, "parameters": $arguments}\n]\n```',
        "<results>\n$result\n</results>",
    ),
    "deepseek_dsml": _tags(
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="$name">\n$arguments</｜DSML｜invoke>\n'
        "</｜DSML｜function_calls>",
        '<｜DSML｜parameter name="$key" string="$is_text">$value</｜DSML｜parameter>\n',
        "<function_results>\n<result>$result</result>\n</function_results>",
    ),
    "deepseek_v3": _json(
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>$name\n```json\n$arguments\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        f"<｜tool▁outputs▁begin｜>{_OUTPUT}<｜tool▁outputs▁end｜>",
    ),
    "deepseek_v31": _json(
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>$name<｜tool▁sep｜>$arguments<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        _OUTPUT,
    ),
    "dots": _tags('<dots_function_call><invoke name="$name">$arguments</invoke></dots_function_call>', _PARAMETER),
    "ernie45": _json(f"<tool_call>\n{_NAME_ARGUMENTS}\n</tool_call>\n", "<tool_output>\n$result\n</tool_output>"),
    "firefunction": _json(f"functools[{_NAME_ARGUMENTS}]"),
    "functionary_v31": _json("<function=$name>$arguments</function>"),
    "functionary_v32": _json(">>>$name\n$arguments"),
    "functiongemma": History(
        "<start_function_call>call:$name{$arguments}<end_function_call>",
        "<start_function_response>response:$name{value:<escape>$result<escape>}<end_function_response>",
        Marked("<escape>"),
    ),
    "gemma4": History(
        "<|tool_call>call:$name{$arguments}<tool_call|>",
        '<|tool_response>response:$name{value:<|"|>$result<|"|>}<tool_response|>',
        Marked('<|"|>'),
    ),
    "gigachat3": _json(f"function call<|role_sep|>\n{_NAME_ARGUMENTS}</s>"),
    "gigachat35": _tags(
        '<｜GCML｜tool_calls>\n<｜GCML｜invoke name="$name">\n$arguments</｜GCML｜invoke>\n</｜GCML｜tool_calls>',
        '<｜GCML｜parameter name="$key" string="$is_text">$value</｜GCML｜parameter>\n',
    ),
    "glm_kv": _tags("<tool_call>$name\n$arguments</tool_call>", _PAIR, _OBSERVED),
    "granite": _json(f"<|tool_call|>[{_NAME_ARGUMENTS}]"),
    "granite20b_fc": _json(f"<function_call> {_NAME_ARGUMENTS}"),
    "harmony": _json(
        "<|start|>assistant<|channel|>commentary to=functions.$name <|constrain|>json<|message|>$arguments<|call|>",
        "<|start|>functions.$name to=assistant<|channel|>commentary<|message|>$result<|end|>",
    ),
    "hermes": _json(f"<tool_call>\n{_NAME_ARGUMENTS}\n</tool_call>", _RESPONSE),
    "hf": _json(f"<tool_call>\n{_NAME_ARGUMENTS}\n</tool_call>", _RESPONSE),
    "hunyuan_a13b": _json(f"<tool_calls>[{_NAME_ARGUMENTS}]</tool_calls>", "<tool_response>$result</tool_response>"),
    "hunyuan_kv": _tags(
        "<tool_calls>\n<tool_call>$name<tool_sep>\n$arguments</tool_call>\n</tool_calls>",
        _PAIR,
        "<tool_responses>\n<tool_response>$result</tool_response>\n</tool_responses>",
    ),
    "hyperclovax": _json(
        f"<|im_start|>assistant -> tool/function_call\n[{_NAME_ARGUMENTS}]<|im_end|><|stop|>",
        "<|im_start|>tool/function_call\n$result<|im_end|>",
    ),
    "inkling": _json(
        '<|message_model|>$name<|content_invoke_tool_json|>{"name": $quoted, "args": $arguments}<|end_message|>'
    ),
    "internlm": _json(f"<|action_start|><|plugin|>\n{_NAME_PARAMETERS}<|action_end|>"),
    "jamba": _json(f"<tool_calls>[\n    {_NAME_ARGUMENTS}\n]</tool_calls>"),
    "json_array": _json(f"[{_NAME_PARAMETERS}]"),
    "json_mix": _json(
        '<tool_call>{"name":$quoted,"arguments":$arguments}</tool_call>',
        '<tool_response>{"toolName":$quoted,"result":$json}</tool_response>',
    ),
    "k2_horizon": _tags(
        "<ifm|tool_calls><ifm|tool_call>$name\n$arguments</ifm|tool_call></ifm|tool_calls>",
        "<ifm|arg_key>$key</ifm|arg_key><ifm|arg_value>$value</ifm|arg_value>",
    ),
    "kimi_k2": _json(
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.$name:0<|tool_call_argument_begin|>$arguments"
        "<|tool_call_end|><|tool_calls_section_end|>",
        "## Return of functions.$name:0\n$result",
    ),
    "kimi_k3": _tags(
        '<|open|>tools<|sep|><|open|>call tool="$name"<|sep|>$arguments<|close|>call<|sep|><|close|>tools<|sep|>',
        '<|open|>argument key="$key" type="$type"<|sep|>$value<|close|>argument<|sep|>',
    ),
    "lfm2": _python(
        "<|tool_call_start|>[$name($arguments)]<|tool_call_end|>",
        "<|tool_response_start|>$result<|tool_response_end|>",
    ),
    "llama3_json": _json(f"<|python_tag|>{_NAME_PARAMETERS}", "$json"),
    "llama4_pythonic": _python("<|python_start|>[$name($arguments)]<|python_end|>", "$json"),
    "longcat": _json(
        f"<longcat_tool_call>\n{_NAME_ARGUMENTS}\n</longcat_tool_call>",
        "<longcat_tool_response>\n$result\n</longcat_tool_response>",
    ),
    "mimo": _tags(
        "<tool_call><function=$name>$arguments</function></tool_call>", "<parameter=$key>$value</parameter>", _RESPONSE
    ),
    "minicpm5_xml": _tags(
        '<function name="$name">$arguments</function>', '<param name="$key"><![CDATA[$value]]></param>', _RESPONSE
    ),
    "minimax_m2": _tags(
        '<minimax:tool_call>\n<invoke name="$name">\n$arguments</invoke>\n</minimax:tool_call>',
        f"{_PARAMETER}\n",
        "<response>$result</response>",
    ),
    "minimax_m3": History(
        ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="$name">$arguments]<]minimax[>[</invoke>\n'
        "]<]minimax[>[</tool_call>",
        "]<]minimax[>[<response>$result]<]minimax[>[</response>",
        Elements("]<]minimax[>["),
    ),
    "mistral_args": _json("[TOOL_CALLS]$name[ARGS]$arguments", _MISTRAL),
    "mistral_callid": _json(
        "[TOOL_CALLS]$name[CALL_ID]$id[ARGS]$arguments", "[TOOL_RESULTS]$id[TOOL_CONTENT]$result[/TOOL_RESULTS]"
    ),
    "mistral_json": _json('[TOOL_CALLS] [{"name": $quoted, "arguments": $arguments, "id": "$id"}]', _MISTRAL),
    "morph_xml": History("<$name>$arguments</$name>", _RESPONSE, Elements(escapes=True)),
    "muse": _tags(
        '<|start|>assistant to=tools<|message|><atem:function_calls>\n<atem:invoke name="$name">\n$arguments'
        "</atem:invoke>\n</atem:function_calls><|eot|>",
        '<atem:parameter name="$key">$value</atem:parameter>\n',
    ),
    "nemotron_toolcall_array": _json(
        f"<TOOLCALL>[{_NAME_ARGUMENTS}]</TOOLCALL>", "<TOOL_RESPONSE>[$json]</TOOL_RESPONSE>"
    ),
    "olmo3": _python("<function_calls>$name($arguments)</function_calls>"),
    "phi4mini": _json(f"functools[{_NAME_ARGUMENTS}]"),
    "plamo3": _json(
        "<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>$name"
        "<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>$arguments"
        "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>"
    ),
    "pythonic": _python("[$name($arguments)]"),
    "qwen3_json": _json(f"<tool_call>\n{_NAME_ARGUMENTS}\n</tool_call>", _RESPONSE),
    "qwen3_xml": _tags(
        "<tool_call>\n<function=$name>\n$arguments</function>\n</tool_call>",
        "<parameter=$key>\n$value\n</parameter>\n",
        _RESPONSE,
    ),
    "qwen_web_xml": _tags("<$name>\n$arguments</$name>", "<$key>$value</$key>\n"),
    "sarashina": History(
        "<|tool_calls|>[{'id': '$id', 'name': '$name', 'arguments': $arguments}]", _ROLE, Literal()
    ),
    "seed_oss": _tags(
        "<seed:tool_call>\n<function=$name>\n$arguments</function>\n</seed:tool_call>",
        "<parameter=$key>$value</parameter>\n",
    ),
    "solar_open": _json(
        "<|tool_calls|><|tool_call:begin|>$id<|tool_call:name|>$name<|tool_call:args|>$arguments<|tool_call:end|><|calls|>"
    ),
    "solar_open2": _tags(
        "<|tool_call:start|>$name\n$arguments<|tool_call:end|>",
        "<|tool_arg:start|>$key<|tool_arg:value|>$value<|tool_arg:end|>\n",
    ),
    "step3": _tags(
        '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="$name">$arguments'
        "</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
        '<steptml:parameter name="$key">$value</steptml:parameter>',
        "<｜tool_outputs_begin｜><｜tool_output_begin｜>$result<｜tool_output_end｜><｜tool_outputs_end｜>",
    ),
    "structured_output": _json('{"content": "", "toolCall": {"name": $quoted, "args": $arguments}}'),
    "tool_call_json": _json(f"<tool_call>\n{_NAME_PARAMETERS}\n</tool_call>"),
    "tool_choice": _json(_NAME_ARGUMENTS),
    "xlam": _json(f"[{_NAME_ARGUMENTS}]"),
}  # fmt: skip
"""By name. What stands in no line has no calls."""
