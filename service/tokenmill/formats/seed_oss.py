"""Tagged function and parameters in tags with the prefix `seed:`; reasoning may contain notes on its own budget."""

from tokenmill.formats.functions import functions
from tokenmill.formats.notations import tags_history
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Region

SEED_OSS = Format(
    name="seed_oss",
    summary="`<function=NAME>` with `<parameter=KEY>` values inside a `<seed:tool_call>` pair.",
    sample=(
        "<seed:think>I need the forecast.</seed:think>I'll look it up.\n"
        "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Paris</parameter>\n"
        "<parameter=days>3</parameter>\n</function>\n</seed:tool_call>"
    ),
    models=("Seed-OSS",),
    aliases=("seed",),
    history=tags_history(
        "<seed:tool_call>\n<function=$name>\n$arguments</function>\n</seed:tool_call>",
        "<parameter=$key>$value</parameter>\n",
    ),
    regions=(Region(marker("<seed:think>"), marker("</seed:think>")),),
    sections=(functions("seed:tool_call", trim="lines"),),
    calls_in_reasoning="honour",
)
