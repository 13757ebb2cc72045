"""Channels by recipient: `all` is everyone, every other name is a tool.

The prompt ends with `>>>`, so a stream begins inside a header, which is a line of its own.
"""

from tokenmill.formats.notations import json_history
from tokenmill.parser.bodies import JsonArguments
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Channels, Format, Route

FUNCTIONARY_V32 = Format(
    name="functionary_v32",
    summary="`NAME` on a line of its own, then the object of arguments; `all` and text. `>>>` between them.",
    sample=('all\nI\'ll look it up.\n>>>get_weather\n{"city": "Paris", "days": 3}>>>get_weather\n{"city": "Rome"}'),
    models=("functionary*v3.2",),
    history=json_history(">>>$name\n$arguments"),
    channels=Channels(
        open=marker(">>>"),
        until=marker("\n"),
        close=marker("<|eot_id|>", "<|end_of_text|>"),
        shape=r"(?:>>>)?[\w.:/\-]*",
        routes=(Route(r"(?:>>>)?all\n", "text"), Route(r"(?:>>>)?(?P<name>[\w.:/\-]+)\n", JsonArguments())),
    ),
    start="header",
)
