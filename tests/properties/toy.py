"""A format that only tests have: what real formats have one at a time, it has all at once.

Markers that are beginnings of each other, brackets that JSON has, too, a closer that is a stray elsewhere, white space
in markers, calls with and without a section.
"""

from tokenmill.parser import Call, Format, Header, Region, Section
from tokenmill.parser.bodies import JsonArguments, Params
from tokenmill.parser.markers import marker

OVERLAPPING = Format(
    name="overlapping",
    summary="Markers that are beginnings of each other, and brackets that JSON has, too.",
    sample="",
    regions=(Region(marker("<a>"), marker("</a>", "</a>>")),),
    strays=(marker("<a>b", "[[", "</a>"),),
    sections=(
        Section(
            marker("[", "[CALLS]"),
            marker("]", "]]"),
            (
                Call(marker("[J]"), JsonArguments(), Header(until=marker(":"), before=marker("::{"))),
                Call(
                    marker("[X]"),
                    Params(marker("[P "), marker("[/P]", spaces=True), marker("[/X]")),
                    Header(until=marker(" ")),
                ),
            ),
            bare="always",
        ),
    ),
    calls_in_reasoning="honour",
)
