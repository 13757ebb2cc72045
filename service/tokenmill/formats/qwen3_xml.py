"""Tagged function and parameters; the tool's schema gives the values their types.

A call may stand without its `<tool_call>` if it names a declared tool: `#include <functional>` is prose. Values have no
escape; a missing `</parameter>` is made good by whatever comes next. A call inside reasoning ends it.
"""

from tokenmill.parser.bodies import Params
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, Region, Section

QWEN3_XML = Format(
    name="qwen3_xml",
    summary="`<function=NAME>` with `<parameter=KEY>` values inside a `<tool_call>` pair.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n"
        "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>"
    ),
    models=("Qwen3-Coder", "Qwen3.5", "Qwen3.6", "Nemotron 3", "Granite 4.2", "Step-3.5", "MiniCPM-V", "Nanbeige"),
    aliases=("qwen3_coder", "nemotron_v3", "step3p5", "step5", "minicpmv", "nanbeige"),
    regions=(Region(marker("<think>"), marker("</think>")),),
    strays=(marker("</think>"),),
    sections=(
        Section(
            open=marker("<tool_call>"),
            close=marker("</tool_call>"),
            calls=(
                Call(
                    open=marker("<function=", spaces=True),
                    header=Header(until=marker(">"), before=marker("\n", "<")),
                    body=Params(
                        open=marker("<parameter=", spaces=True),
                        close=marker("</parameter>", spaces=True),
                        end=marker("</function>", spaces=True),
                    ),
                ),
            ),
            bare="declared",
        ),
    ),
    calls_in_reasoning="honour",
)
