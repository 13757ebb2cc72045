"""Calls as relaxed JSON between tags that the options name, as a middleware of the AI SDK asks for them in its prompt.

A call is one only with its closing tag; what is broken or cut off comes out as text, tags included.
"""

import msgspec

from tokenmill.errors import BadOpen
from tokenmill.parser.bodies import TaggedJson
from tokenmill.parser.markers import marker
from tokenmill.parser.options import Options
from tokenmill.parser.spec import Call, Format, Section


def _section(start: str, end: str) -> Section:
    opening = marker(start)
    return Section(
        open=None,
        close=None,
        calls=(Call(open=opening, body=TaggedJson(open=opening, close=marker(end)), tag=True),),
        bare="alone",
    )


def _configured(format_: Format, options: Options) -> Format:
    """The format with the tags of the options."""
    if "" in (options.start_tag, options.end_tag):
        raise BadOpen("options 'start_tag' and 'end_tag': a tag must not be empty")
    if options.start_tag is None and options.end_tag is None:
        return format_
    section = _section(options.start_tag or "<tool_call>", options.end_tag or "</tool_call>")
    return msgspec.structs.replace(format_, sections=(section,))


JSON_MIX = Format(
    name="json_mix",
    summary="Relaxed JSON with name and arguments between `<tool_call>` tags, or those of `start_tag` and `end_tag`.",
    sample=(
        'I\'ll look it up.\n<tool_call>{name: \'get_weather\', arguments: {"city": "Paris", "days": 3,}}</tool_call>'
    ),
    sections=(_section("<tool_call>", "</tool_call>"),),
    configured=_configured,
)
