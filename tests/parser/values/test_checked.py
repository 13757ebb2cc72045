"""Patterns as they are found in texts, and schemas made ready for the library that checks arguments."""

import time
from typing import Any

import pytest

from tokenmill.parser.run.rules import Tool
from tokenmill.parser.values.checked import (
    PATTERN_COST,
    SCHEMA_NODES,
    checkable,
    compiled_pattern,
    matches,
    nulls_allowed,
    patterns_read,
    resolve,
    walked,
)
from tokenmill.parser.values.conform import size_of


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^x-", "x-a", True),
        ("^x-", "ax-", False),
        ("b", "abc", True),
        (r"^\d+$", "12", True),
        (r"^(\x61+)+$", "aaa", True),
        ("^é$", "é", True),
    ],
)
def test_as_json_schema_means_it(pattern: str, text: str, found: bool) -> None:
    """Found anywhere, unless the pattern says where."""
    assert matches(pattern, text) is found


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a" * (PATTERN_COST + 1), "(?i)" + "a" * 80])
def test_what_is_no_pattern_matches_nothing(pattern: str) -> None:
    """Nor does one that no linear engine can take, or one too long."""
    assert not matches(pattern, "aaaa")


def nodes(schema: dict[str, Any]) -> int:
    """Return the number of its parts."""
    return walked(schema)[0]


def test_text_that_cannot_be_encoded_matches_nothing() -> None:
    """Half a surrogate pair."""
    assert not matches("a", "a\ud83d")


def test_no_pattern_takes_long() -> None:
    """Those that other engines go back and forth in take no longer than any."""
    begun = time.process_time()
    assert not matches("^(a+)+$", "a" * 100_000 + "!")
    assert time.process_time() - begun < 1


def test_a_pattern_for_keys_is_small() -> None:
    """A message may have thousands of keys, and the engine may hold each character against all of a pattern."""
    assert matches("^[a-z]{1,40}$", "xa")
    assert not matches("^[a-z]{1,100}$", "xa")


def test_patterns_that_fit_together_are_checked() -> None:
    """The smallest first, until they are too large, or take too long for the characters of the value."""
    patterns = {"a": "^a{500}$", "b": "^b{9000}$", "c": "^c{3000}$"}
    schema = {"properties": {name: {"pattern": pattern} for name, pattern in patterns.items()}}
    held = dict.fromkeys(patterns.values(), 1)

    def checked(held: dict[str, int], chars: int) -> list[str]:
        return [name for name in patterns if not checkable(schema, held, chars).is_valid({name: "x"})]

    assert checked(held, 10) == ["a", "c"]
    assert checked(held, 20_000) == ["a"]
    assert checked({**held, patterns["a"]: 20}, 20_000) == []


def test_a_schema_that_is_nested_too_deep() -> None:
    """It checks nothing, as other schemas that can't be compiled."""
    schema: dict[str, Any] = {"type": "integer", "nullable": True}
    for _ in range(5000):
        schema = {"items": schema}
    assert Tool("f", {"properties": {"a": schema}}).mismatch({"a": "x"}, 10) is None


LOOKS = "^(?!x).*$"
"""A pattern that no engine with linear time knows."""


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"pattern": LOOKS, "type": "string"}, {"type": "string"}),
        ({"pattern": "^a", "items": {"pattern": LOOKS}}, {"pattern": "^a", "items": {}}),
        ({"anyOf": [{"pattern": "("}, {"pattern": 7}]}, {"anyOf": [{}, {"pattern": 7}]}),
        ({"patternProperties": {LOOKS: {"a": 1}, "^a": {"b": 1}}}, {"patternProperties": {"": {}, "^a": {"b": 1}}}),
        ({"patternProperties": {LOOKS: {"a": 1}, "": {"b": 1}}}, {"patternProperties": {"": {"b": 1}}}),
        ({"patternProperties": {"^a": {}}}, {"patternProperties": {"^a": {}}}),
        ({"properties": {"pattern": {"type": "string"}}}, {"properties": {"pattern": {"type": "string"}}}),
        ({"enum": [{"pattern": LOOKS}]}, {"enum": [{"pattern": LOOKS}]}),
        (True, True),
    ],
)
def test_patterns_that_are_not_read(schema: Any, expected: Any) -> None:
    """Those that the engine refuses are gone; where they name keys, any key may be one of them."""
    assert patterns_read(schema, lambda pattern: compiled_pattern(pattern) is not None) == expected


OTHER_THAN_X = {"type": "string", "pattern": LOOKS}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"not": OTHER_THAN_X}, "xa"),
        ({"oneOf": [OTHER_THAN_X, {"pattern": "^x"}]}, "xa"),
        ({"if": OTHER_THAN_X, "then": {"maxLength": 1}}, "xaa"),
        ({"contains": OTHER_THAN_X, "maxContains": 1}, ["ya", "xb"]),
        ({"not": {"$ref": "#/$defs/A"}}, "xa"),
        ({"not": {"anyOf": [{"items": OTHER_THAN_X}]}}, ["xa"]),
    ],
)
def test_what_fits_is_not_refused_for_a_pattern_that_is_not_checked(schema: Any, value: Any) -> None:
    """Without it, more would fit what must not fit."""
    assert Tool("f", {"properties": {"a": schema}, "$defs": {"A": OTHER_THAN_X}}).mismatch({"a": value}, 10) is None


def test_a_union_is_checked_without_a_pattern_in_it() -> None:
    """One of its members has to fit still, only not which, and all beside it."""
    union = {"oneOf": [OTHER_THAN_X, {"$ref": "#/$defs/A"}, {"type": "null"}], "allOf": [{"maxLength": 3}]}
    tool = Tool("f", {"properties": {"a": union, "b": {"type": "integer"}}, "$defs": {"A": OTHER_THAN_X}})
    assert [tool.mismatch({"a": value}, 10) for value in ("xa", "y", None)] == [None] * 3
    assert all(tool.mismatch(wrong, 10) for wrong in ({"a": 1}, {"a": "long"}, {"b": "x"}))


def branching(depth: int) -> dict[str, Any]:
    """A schema that doubles with every definition."""
    both = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(depth)}
    return {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": both | {f"d{depth}": {"type": "string"}}}


TREE = {
    "properties": {"a": {"$ref": "#/$defs/T"}},
    "$defs": {"T": {"anyOf": [{"type": "integer"}, {"properties": {"l": {"$ref": "#/$defs/T"}}}]}},
}


def test_nodes() -> None:
    """Parts are counted with their references followed, and a circle is more than the bound."""
    assert nodes({"type": "object"}) == 2
    assert nodes(branching(3)) > nodes(branching(2)) + 10
    assert nodes(branching(30)) > SCHEMA_NODES
    assert nodes(TREE) > SCHEMA_NODES
    assert nodes({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}}) == 7
    assert nodes({"allOf": [{}], "unevaluatedItems": False}) == 8
    assert size_of({"a": [1, {"b": "cd"}]}) == (5, 4)


def twice(reference: str, **around: Any) -> dict[str, Any]:
    """A schema of which each object holds two of the same: the library follows the reference."""
    return {"type": "object", "properties": {"l": {"anyOf": [{"$ref": reference}] * 2}}, "required": ["l"], **around}


def asked(depth: int, keyword: str = "allOf", **beside: Any) -> dict[str, Any]:
    """A schema in a schema in a schema, each of which asks what the inner one has seen."""
    schema: dict[str, Any] = {"properties": {"l": {}}}
    for _ in range(depth):
        schema = {keyword: schema if keyword == "if" else [schema], **(beside or {"unevaluatedProperties": False})}
    return schema


OTHER = {**twice("#/$defs/A"), "$id": "http://127.0.0.1/x", "$defs": {"A": twice("#/$defs/A")}}
COSTLY: dict[str, dict[str, Any]] = {
    "branches": branching(30),
    "tree": TREE,
    "circle": {"$ref": "#"},
    "place in a list": {"anyOf": [twice("#/anyOf/0")]},
    "escapes": {"$ref": "#/%24defs/A", "$defs": {"A": twice("#/%24defs/A")}},
    "anchor": twice("#x", **{"$anchor": "x"}),
    "address": twice("http://127.0.0.1/x", **{"$id": "http://127.0.0.1/x"}),
    "relative address": twice(""),
    "dynamic": {
        "$dynamicAnchor": "x",
        "type": "object",
        "properties": {"l": {"anyOf": [{"$dynamicRef": "#x"}] * 2}},
        "required": ["l"],
    },
    "recursive": {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$recursiveAnchor": True,
        "type": "object",
        "properties": {"l": {"anyOf": [{"$recursiveRef": "#"}] * 2}},
        "required": ["l"],
    },
    "a root in the root": {"properties": {"l": OTHER}, "$defs": {"A": {}}},
    "a root of an old draft": {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {
            "l": {"id": "http://127.0.0.1/x", **twice("#/definitions/A", definitions={"A": twice("#/definitions/A")})}
        },
        "definitions": {"A": {}},
    },
    "moved for a null": {"nullable": True, "allOf": [{}], "anyOf": [{}], **twice("#/anyOf/0")},
    "unevaluated": asked(24),
    "unevaluated items": asked(24, unevaluatedItems=False, unevaluatedProperties=False),
    "unevaluated behind a condition": asked(24, "if"),
    "unevaluated with a schema": asked(24, unevaluatedProperties={"type": "integer"}),
}


@pytest.mark.parametrize("name", COSTLY)
@pytest.mark.timeout(5)
def test_schemas_that_cost_too_much_check_nothing(name: str) -> None:
    """Branching references and circles end at once, whatever the arguments; so does what is asked again and again."""
    nested: Any = 5
    for _ in range(100):
        nested = {"l": nested}
    assert nodes(nulls_allowed(COSTLY[name])) > SCHEMA_NODES
    for arguments in ({"a": nested}, nested):
        assert Tool("f", COSTLY[name]).mismatch(arguments, 1000) is None


def test_a_schema_with_references_that_end_is_checked() -> None:
    """Whatever they are written like; so is one with a name of its own."""
    inner = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    schema = {
        "$id": "http://127.0.0.1/x",
        "properties": {"a": inner, "b": {"$ref": "#/properties/a/anyOf/0"}, "c": {"$ref": "#/%24defs/A%20B"}},
        "$defs": {"A B": {"type": "integer"}},
        "unevaluatedProperties": False,
    }
    assert Tool("f", schema).mismatch({"a": None, "b": 1, "c": 1}, 10) is None
    assert all(Tool("f", schema).mismatch({key: "x"}, 10) for key in "abc")


@pytest.mark.timeout(5)
def test_patterns_are_matched_in_linear_time() -> None:
    """One that the engine refuses checks nothing; the others, and all else, are checked."""
    schema = {
        "properties": {
            "a": {"type": "string", "pattern": "^(a*)*\\1b$"},
            "b": {"type": "string", "pattern": "^x+$"},
            "c": {"type": "string", "pattern": "^(x+x+)+y$"},
        },
        "patternProperties": {"^(?!y)": {"type": "integer"}},
        "additionalProperties": False,
    }
    tool = Tool("f", schema)
    assert tool.mismatch({"a": "a" * 1000, "b": "x"}, 10) is None
    assert tool.mismatch({"z": 1}, 10) is None
    for wrong in ({"a": 1}, {"b": "y"}, {"c": "x" * 10_000}):
        assert tool.mismatch(wrong, 10) is not None


REFERRED: dict[str, Any] = {
    "anyOf": ["zero", {"a/b": "one"}],
    "$defs": {"A B": "space", "~1": "tilde", "%": "percent", "0": "named", "ä": "letter"},
}


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#", REFERRED),
        ("#/anyOf/0", "zero"),
        ("#/anyOf/1/a~1b", "one"),
        ("#/anyOf/1/a%2Fb", None),
        ("#/anyOf/2", None),
        ("#/anyOf/-1", None),
        ("#/anyOf/" + "0" * 5000, None),
        ("#/anyOf/x", None),
        ("#/%24defs/A%20B", "space"),
        ("#/$defs/~01", "tilde"),
        ("#/$defs/%25", "percent"),
        ("#/$defs/0", "named"),
        ("#/$defs/%C3%A4", "letter"),
        ("#/$defs/%FF", None),
        ("#/anyOf/0/x", None),
        ("http://127.0.0.1/#/anyOf/0", None),
    ],
)
def test_where_a_reference_leads(reference: str, found: Any) -> None:
    """By keys and places in lists, with the escapes of JSON pointers and of addresses."""
    assert resolve(reference, REFERRED) == found


INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer", "nullable": True}, {"type": ["integer", "null"], "nullable": True}),
        ({"type": ["integer", "null"], "nullable": True}, {"type": ["integer", "null"], "nullable": True}),
        ({"enum": [1], "nullable": True}, {"enum": [1, None], "nullable": True}),
        ({"anyOf": [INTEGER], "nullable": True}, {"anyOf": [INTEGER, {"type": "null"}], "nullable": True}),
        ({"type": "integer", "nullable": False}, {"type": "integer", "nullable": False}),
        ({"type": "integer", "nullable": "yes"}, {"type": "integer", "nullable": "yes"}),
        (
            {"type": 5, "enum": "x", "anyOf": 7, "nullable": True},
            {"type": 5, "enum": "x", "anyOf": 7, "nullable": True},
        ),
        ({"properties": {"nullable": True}, "items": "x"}, {"properties": {"nullable": True}, "items": "x"}),
        ({"default": {"type": "integer", "nullable": True}}, {"default": {"type": "integer", "nullable": True}}),
        (
            {"nullable": True, "$ref": "#/$defs/A", "$defs": {"A": INTEGER}},
            {"$defs": {"A": INTEGER}, "anyOf": [{"nullable": True, "$ref": "#/$defs/A"}, {"type": "null"}]},
        ),
    ],
)
def test_where_a_null_is_put(schema: Any, expected: Any) -> None:
    """Beside the types or values that are listed; only a schema that lists none is put into another."""
    assert nulls_allowed(schema) == expected


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "nullable": True},
        {"type": "integer", "enum": [1, 2], "nullable": True},
        {"const": 1, "nullable": True},
        {"$ref": "#/$defs/A", "nullable": True},
        {"$ref": "#/$defs/N"},
        {"allOf": [{"$ref": "#/$defs/A"}], "nullable": True},
        {"anyOf": [INTEGER], "nullable": True},
        {"anyOf": [{"type": "integer", "nullable": True}, {"type": "array", "nullable": True}]},
        {"oneOf": [{"type": "integer", "nullable": True}, {"type": "array"}]},
        {"oneOf": [{"type": "integer", "nullable": True}, {"type": "array", "nullable": True}]},
        {"oneOf": [{"type": "integer", "nullable": True}, {"type": "array"}], "nullable": True},
    ],
)
def test_a_null_fits(schema: Any) -> None:
    """Wherever it is said; all else is judged as before, in arguments, elements and values of objects."""
    definitions = {"A": INTEGER, "N": {"type": "integer", "nullable": True}}
    for around, wrap in (
        (schema, lambda value: value),
        ({"type": "array", "items": schema}, lambda value: [value]),
        ({"type": "object", "properties": {"b": schema}}, lambda value: {"b": value}),
        ({"type": "object", "additionalProperties": schema}, lambda value: {"b": value}),
    ):
        tool = Tool("f", {"properties": {"a": around}, "$defs": definitions})
        assert tool.mismatch({"a": wrap(None)}, 10) is None
        assert tool.mismatch({"a": wrap(1)}, 10) is None
        assert tool.mismatch({"a": wrap("x")}, 10) is not None


@pytest.mark.timeout(5)
def test_nullable_branches_inside_of_each_other_are_read_once() -> None:
    """Of several branches that may be null each is read with its null and without it, and not again for either."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(40):
        schema = {"oneOf": [{**schema, "nullable": True}, {"type": "string", "nullable": True}]}
    allowed = nulls_allowed(schema)
    assert allowed["oneOf"][1:] == [{"type": "string", "nullable": True}, {"type": "null"}]
