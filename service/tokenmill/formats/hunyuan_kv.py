"""A name and pairs of tags for keys and values; calls in one section.

Checkpoints may add a suffix to all tags: that of the public ones is known, others are set by `markers_suffix`.
"""

import msgspec

from tokenmill.formats.notations import tags_history
from tokenmill.formats.pairs import NAME, pairs
from tokenmill.formats.shapes import THINK
from tokenmill.parser.compile.grammar import with_suffix_or_not
from tokenmill.parser.markers import marker
from tokenmill.parser.options import Options
from tokenmill.parser.spec import Call, Format, Header, Section

_TAGS = Format(
    name="hunyuan_kv",
    summary="NAME and `<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>` pairs in a `<tool_calls>` section.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        "<tool_calls>\n<tool_call>get_weather<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
        "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n</tool_calls>"
    ),
    models=("Hunyuan-3", "Hunyuan-4", "Hy3", "Hy4"),
    aliases=("hunyuan", "hy_v3", "hy_v4"),
    history=tags_history(
        "<tool_calls>\n<tool_call>$name<tool_sep>\n$arguments</tool_call>\n</tool_calls>",
        "<arg_key>$key</arg_key>\n<arg_value>$value</arg_value>\n",
        "<tool_responses>\n<tool_response>$result</tool_response>\n</tool_responses>",
    ),
    regions=(THINK,),
    sections=(
        Section(
            open=marker("<tool_calls>"),
            close=marker("</tool_calls>"),
            calls=(
                Call(
                    open=marker("<tool_call>", "<tool_call>\n"),
                    header=Header(
                        until=marker("<tool_sep>", "\n"), before=marker("<arg_key>", "</tool_call>"), pattern=NAME
                    ),
                    body=pairs("</tool_call>", untyped="json", paired=True),
                ),
            ),
            bare="declared",
        ),
    ),
    unknown_tool="text",
    calls_in_reasoning="honour",
)

_KNOWN = with_suffix_or_not(_TAGS, ":opensource")


def _configured(format_: Format, options: Options) -> Format:
    """Return the format without the public checkpoints' suffix, if the options set another."""
    return _TAGS if options.markers_suffix else format_


HUNYUAN_KV = msgspec.structs.replace(_KNOWN, configured=_configured)
