"""The common base of all sections: bounds of values, and a `repr` that never shows a secret."""

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

Positive: TypeAlias = Annotated[float, Meta(gt=0)]
PositiveInt: TypeAlias = Annotated[int, Meta(gt=0)]

SECRETS = frozenset({"sasl_password", "ssl_password", "url", "jwt_secret", "ticket_secret", "api_key"})
"""Keys whose value is never shown; a Redis URL may hold a password. Each can be read from a file, named by the key with
the suffix `_file`."""


MASKED = "***"
"""Text that replaces a secret."""

Contradiction: TypeAlias = tuple[tuple[str, ...], str]
"""Settings that contradict each other: their keys, and a sentence that describes the problem."""


def wrong(key: str, sentence: str, *others: str) -> Contradiction:
    """Return the contradiction of a setting that breaks a rule, alone or with `others`."""
    return (key, *others), f"{key}: {sentence}"


def wrong_pair(key: str, other: str, sentence: str) -> Contradiction:
    """Return the contradiction of two settings; the sentence has `{}` where it names the second."""
    return wrong(key, sentence.format(other), other)


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of the file."""

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Names and values, secrets masked."""
        values = [(name, getattr(self, name)) for name in self.__struct_fields__]
        return [(name, MASKED if name in SECRETS and value else value) for name, value in values]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({shown})"
