"""Calls as markup named like the tool, as a middleware of the AI SDK asks for it in its prompt.

Any element could be one, so only the exact tags of declared tools count: `<NAME>`, or `<NAME/>` for no arguments.
"""

import re
from collections.abc import Sequence

import msgspec

from tokenmill.formats.notations import TOOL_RESPONSE, Elements
from tokenmill.parser.bodies import Markup
from tokenmill.parser.markers import LEADING_SPACE, ahead, marker
from tokenmill.parser.options import Options
from tokenmill.parser.run.tools import read_tools
from tokenmill.parser.spec import Call, Format, Header, History, Section
from tokenmill.parser.values.markup import NAME

_NAME = re.compile(NAME)


def _configured(format_: Format, options: Options) -> Format:
    """The format with the tags of the declared tools."""
    names = [name for name in read_tools(options.tools, {}) if _NAME.fullmatch(name)]
    return msgspec.structs.replace(format_, sections=(_section(names),) if names else ())


def _section(tools: Sequence[str]) -> Section:
    opened = [ahead(f"{name}>") for name in tools]
    empty = [(*ahead(name), LEADING_SPACE, "/", ">") for name in tools]
    return Section(
        open=None,
        close=None,
        calls=(
            Call(
                open=marker("<", ahead=[*opened, *empty]),
                header=Header(until=marker(">"), pattern=rf"(?P<name>{NAME})\s*(?P<whole>/?)"),
                body=Markup(),
            ),
        ),
        bare="alone",
    )


MORPH_XML = Format(
    name="morph_xml",
    summary="`<TOOL>` elements of declared tools with markup inside that is made to fit the tool's schema.",
    sample="I'll look it up.\n<get_weather>\n  <city>Paris</city>\n  <days>3</days>\n</get_weather>",
    history=History("<$name>$arguments</$name>", TOOL_RESPONSE, Elements(escapes=True)),
    configured=_configured,
    unknown_tool="text",
)
