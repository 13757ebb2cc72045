"""Whether a call may be run at all: rows of `tools.policy`, of which the first that fits decides.

A row is an action, a tool, and what its arguments look like: `ask files__write_file(path=/srv/*, mode=w)`. `*` stands
for any text, in names as in values, and nothing else stands for anything. A value that is no string is compared as
JSON, 2.0 as 2. An argument that the call does not have fits no pattern. What no row fits is allowed.

Patterns compare text and know nothing of what it means: `/srv/../etc` begins with `/srv/`. So rows that allow are for
tools that check such things themselves, and rows that deny come before them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

import msgspec

from tokenmill.wildcards import matches

Action: TypeAlias = Literal["allow", "ask", "deny"]


class Rule(msgspec.Struct, frozen=True):
    """A row of the policy."""

    action: Action
    tool: str
    arguments: tuple[tuple[str, str], ...] = ()

    def fits(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Whether the row is about this call."""
        return matches(self.tool, name) and all(
            argument in arguments and matches(pattern, _text(arguments[argument]))
            for argument, pattern in self.arguments
        )


def read_policy(rows: Iterable[str]) -> tuple[Rule, ...]:
    """The rows as data; the configuration has checked how they look."""
    return tuple(map(_rule, rows))


def verdict(policy: Sequence[Rule], name: str, arguments: Mapping[str, Any]) -> Action:
    """What is to be done with a call."""
    return next((rule.action for rule in policy if rule.fits(name, arguments)), "allow")


def _rule(row: str) -> Rule:
    action, _, rest = row.partition(" ")
    tool, _, inside = rest.rstrip(")").partition("(")
    pairs = (each.partition("=") for each in inside.split(",") if each.strip())
    return Rule(cast(Action, action), tool, tuple((name.strip(), pattern.strip()) for name, _, pattern in pairs))


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
