"""Calls as elements named like the tool, as a proxy in front of Qwen's web chat asks for them in its prompt.

Any element could be one, so only declared tools count, and only the first call does: such a model waits for the result,
and goes on to invent it if it is not stopped.
"""

import re
from collections.abc import Sequence

import msgspec

from tokenmill.limits import NAME_CHARS
from tokenmill.parser.bodies import Children
from tokenmill.parser.bodies.children import NAME
from tokenmill.parser.markers import ahead, marker
from tokenmill.parser.options import Options
from tokenmill.parser.run.tools import read_tools
from tokenmill.parser.spec import Call, Format, Header, Section

_NAME = re.compile(NAME)


def _configured(format_: Format, options: Options) -> Format:
    """The format with the tags of the declared tools."""
    names = [name for name in read_tools(options.tools, {}) if len(name) <= NAME_CHARS and _NAME.fullmatch(name)]
    return msgspec.structs.replace(format_, sections=(_section(names),) if names else ())


def _section(tools: Sequence[str]) -> Section:
    return Section(
        open=None,
        close=None,
        calls=(
            Call(
                open=marker("<", ahead=[ahead(f"{name} >") for name in tools]),
                header=Header(until=marker(">"), pattern=rf"(?P<name>{NAME})\s*"),
                body=Children(),
            ),
        ),
        bare="always",
    )


QWEN_WEB_XML = Format(
    name="qwen_web_xml",
    summary="`<TOOL>` elements of declared tools with `<PARAMETER>` children; the first one ends the answer.",
    sample="I'll look it up.\n\n<get_weather>\n<city>Paris</city>\n<days>3</days>\n</get_weather>",
    configured=_configured,
    unknown_tool="text",
    first_call_only=True,
    text_after_calls="drop",
)
