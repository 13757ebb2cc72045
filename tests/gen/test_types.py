"""Types are said in words."""

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import UNSET, Meta, UnsetType

from tokenmill.gen.types import in_words


class Inner(msgspec.Struct):
    value: int | UnsetType = UNSET


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (str, "string"),
        (bool, "boolean"),
        (Any, "any JSON value"),
        (Annotated[int, Meta(ge=0, le=9)], "integer ≥ 0 ≤ 9"),
        (Annotated[float, Meta(gt=0)], "number > 0"),
        (Literal["a", "b"], '`"a"` or `"b"`'),
        (list[str], "list of string"),
        (dict[str, Any], "object"),
        (dict[str, int], "object of integer"),
        (int | None, "integer or none"),
        (int | UnsetType, "integer"),
        (Inner, "Inner"),
        (Annotated[str, Meta(extra_json_schema={"pattern": "a"})], "string"),
    ],
)
def test_a_type_is_said_in_words(kind: Any, words: str) -> None:
    """Bounds, choices, what a list holds; being absent is no type."""
    assert in_words(kind) == words
