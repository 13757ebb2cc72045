"""Whether a call may be run at all: rows of `tools.policy`, of which the first that fits decides.

A row is an action, a tool, and patterns of its arguments: `ask files__write_file(path=/srv/*, mode=w)`. `*` stands for
any text, in names as in values; there are no other wildcards. A value that is not a string is compared as JSON, 2.0 as
2. An argument that the call does not have fits no pattern. A call that no row fits is allowed.

Patterns compare text, whatever it means: `/srv/../etc` begins with `/srv/`. So rows that allow are for tools that check
such things themselves, and rows that deny come before them.
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
        """Whether the row applies to this call."""
        return matches(self.tool, name) and all(
            argument in arguments and matches(pattern, _text(arguments[argument]))
            for argument, pattern in self.arguments
        )


def read_policy(rows: Iterable[str]) -> tuple[Rule, ...]:
    """Return the rows as data; the configuration has checked their syntax."""
    return tuple(map(_rule, rows))


def verdict(policy: Sequence[Rule], name: str, arguments: Mapping[str, Any]) -> Action:
    """Return what the policy does with a call."""
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
