"""The name in the tag, the arguments as one JSON object after it."""

from tokenmill.formats.notations import json_history
from tokenmill.parser.bodies import JsonArguments
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, Section

FUNCTIONARY_V31 = Format(
    name="functionary_v31",
    summary="`<function=NAME>` with the JSON of the arguments.",
    sample='I\'ll look it up.\n<function=get_weather>{"city": "Paris", "days": 3}</function>',
    models=("functionary*v3.1",),
    history=json_history("<function=$name>$arguments</function>"),
    sections=(
        Section(
            open=None,
            close=marker("</function>"),
            calls=(
                Call(
                    marker("<function="),
                    JsonArguments(optional=True),
                    Header(marker(">"), before=marker("\n", "<", "{")),
                ),
            ),
            bare="always",
        ),
    ),
)
