"""What the benchmarks parse: plain text, and a tool call of any length in each way bodies are written."""

PLAIN = "The quick brown fox jumps over the lazy dog, again and again. "

CONTENT = "def area(r):\n    return 3.14 * r * r  # of a circle\n"
"""Repeated as the text of one long argument: what agents write most is files."""

CHUNK_CHARS = 4
"""About one token."""

CALLS: dict[str, tuple[str, str, bool]] = {
    "hermes": ('<tool_call>\n{"name": "write_file", "arguments": {"content": "', '"}}\n</tool_call>', True),
    "qwen3_xml": (
        "<tool_call>\n<function=write_file>\n<parameter=content>\n",
        "\n</parameter>\n</function>\n</tool_call>",
        False,
    ),
    "mistral_callid": ('[TOOL_CALLS]write_file[CALL_ID]a1B2c3D4e[ARGS]{"content": "', '"}', True),
    "apertus": ('<|tools_prefix|>[{"write_file": {"content": "', '"}}]<|tools_suffix|>', True),
    "llama4_pythonic": ('<|python_start|>[write_file(content="', '")]<|python_end|>', True),
    "gemma4": ('<|tool_call>call:write_file{content:<|"|>', '<|"|>}<tool_call|>', False),
    "minimax_m3": (
        ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="write_file">]<]minimax[>[<content>',
        "]<]minimax[>[</content>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        False,
    ),
}
"""Format → what stands before and after the argument's text, and whether line ends in it are escaped."""

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "write_file",
            "parameters": {"type": "object", "properties": {"content": {"type": "string"}}},
        },
    },
]


def chunks_of(text: str) -> list[str]:
    """The text in chunks of four characters."""
    return [text[at : at + CHUNK_CHARS] for at in range(0, len(text), CHUNK_CHARS)]


def plain_text(chars: int) -> str:
    """So many characters of prose without any marker."""
    return (PLAIN * (chars // len(PLAIN) + 1))[:chars]


def call_text(format_name: str, chars: int) -> str:
    """One call whose argument has so many characters of source text."""
    before, after, escaped = CALLS[format_name]
    content = CONTENT.replace("\n", "\\n") if escaped else CONTENT
    return before + (content * (chars // len(content) + 1))[:chars].rstrip("\\") + after
