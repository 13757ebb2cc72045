"""`<function name=…>` with `<param name=…>` values as XML; a call must fit its tool, else it is text.

Tokenizers of this family leave `Ġ` where a space was, or nothing, and `Ċ` where a new line was.
"""

from tokenmill.formats.notations import TOOL_RESPONSE, tags_history
from tokenmill.formats.shapes import THINK
from tokenmill.formats.tagged import KEY, NAME
from tokenmill.parser.bodies import Params
from tokenmill.parser.bodies.closings import XML
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, Section

_PARAMS = ("<param name=", "<paramĠname=", "<paramname=")

MINICPM5_XML = Format(
    name="minicpm5_xml",
    summary='`<function name="NAME">` with `<param name="KEY">` values, CDATA and entities as in XML.',
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        '<function name="get_weather"><param name="city">Paris</param><param name="days">3</param></function>'
    ),
    models=("MiniCPM5",),
    aliases=("minicpm5", "minicpm5xml"),
    history=tags_history(
        '<function name="$name">$arguments</function>', '<param name="$key"><![CDATA[$value]]></param>', TOOL_RESPONSE
    ),
    regions=(THINK,),
    sections=(
        Section(
            open=None,
            close=None,
            calls=(
                Call(
                    open=marker("<function name=", "<functionĠname=", "<functionname=", spaces=True),
                    header=Header(until=marker(">"), before=marker("<"), pattern=NAME),
                    body=Params(
                        open=marker(*_PARAMS, *(f"Ċ{tag}" for tag in _PARAMS), spaces=True),
                        close=marker("</param>", spaces=True),
                        end=marker("</function>", "Ċ</function>", spaces=True),
                        key=KEY,
                        trim="none",
                        escapes=XML,
                        declared=True,
                        calls=marker("<function name=", spaces=True),
                    ),
                ),
            ),
            bare="always",
        ),
    ),
    unknown_tool="text",
)
