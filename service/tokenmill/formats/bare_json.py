"""JSON objects with a tool and its parameters, anywhere in prose and without any marker.

What stands between two calls is text, be it only a line break. Without a list of tools any name is one.
"""

from tokenmill.parser.bodies import ToolObject
from tokenmill.parser.markers import LEADING_SPACE, marker
from tokenmill.parser.spec import Call, Format, Section

BARE_JSON = Format(
    name="bare_json",
    summary='Objects `{"tool": …, "params": …}` anywhere in running text; other JSON stays text.',
    sample='I\'ll look it up.\n{"tool": "get_weather", "params": {"city": "Paris", "days": 3}}',
    sections=(
        Section(
            open=None,
            close=None,
            calls=(Call(open=marker("{", ahead=[(LEADING_SPACE, '"')]), body=ToolObject()),),
            bare="alone",
        ),
    ),
)
