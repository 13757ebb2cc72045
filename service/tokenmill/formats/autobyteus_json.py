"""JSON in running text that begins like a call: the option `json_patterns` says how, `json_profile` how it is read."""

from collections.abc import Sequence

import msgspec

from tokenmill.errors import BadOpen
from tokenmill.parser.bodies.json_profiles import PROFILES
from tokenmill.parser.bodies.json_tool import JsonTool
from tokenmill.parser.markers import LEADING_SPACE, literal, marker
from tokenmill.parser.options import Options
from tokenmill.parser.spec import Call, Format, Section

PATTERNS = (
    '{"tool"',
    '{"tool_calls"',
    '{"tools"',
    '{"function"',
    '{"name"',
    '[{"tool"',
    '[{"function"',
    '[{"name"',
)
"""How calls begin if nobody says it."""

BRACKETS = "{["


def _section(patterns: Sequence[str]) -> Section:
    """Calls that begin so. A call's opening is its first bracket; what follows it in the pattern must follow it."""
    tight = ["".join(pattern.split()) for pattern in patterns]
    behind = [(first, [_signs(text[1:]) for text in tight if text[0] == first]) for first in BRACKETS]
    calls = tuple(Call(marker(first, ahead=ahead), JsonTool()) for first, ahead in behind if ahead)
    return Section(open=None, close=None, calls=calls, bare="alone")


def _signs(text: str) -> list[str]:
    """Signs with any white space between them: nothing, if a bracket alone is the pattern."""
    return [piece for sign in text for piece in (LEADING_SPACE, *literal(sign))]


def _configured(format_: Format, options: Options) -> Format:
    if options.json_profile and options.json_profile not in PROFILES:
        raise BadOpen(f"option 'json_profile': unknown {options.json_profile!r}; known are {', '.join(PROFILES)}")
    wrong = [pattern for pattern in options.json_patterns if not pattern.strip().startswith(tuple(BRACKETS))]
    if wrong:
        raise BadOpen(f"option 'json_patterns': {wrong[0]!r:.100} does not begin with one of {' '.join(BRACKETS)}")
    if not options.json_patterns:
        return format_
    return msgspec.structs.replace(format_, sections=(_section(options.json_patterns),))


AUTOBYTEUS_JSON = Format(
    name="autobyteus_json",
    summary="JSON in running text that begins like a call, with name and arguments where a profile has them.",
    sample='I\'ll look it up.\n{"tool": {"function": "get_weather", "parameters": {"city": "Paris", "days": 3}}}',
    sections=(_section(PATTERNS),),
    configured=_configured,
)
