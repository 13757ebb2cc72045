"""Bounds of what it costs to hold arguments against a schema."""

from typing import Any

import pytest

from tokenmill.parser.effort import SCHEMA_NODES, schema_nodes, value_nodes
from tokenmill.parser.tools import Tool


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
    assert schema_nodes({"type": "object"}) == 2
    assert schema_nodes(branching(3)) > schema_nodes(branching(2)) + 10
    assert schema_nodes(branching(30)) > SCHEMA_NODES
    assert schema_nodes(TREE) > SCHEMA_NODES
    assert schema_nodes({"$ref": "#/nowhere"}) == 3
    assert value_nodes({"a": [1, {"b": 2}]}) == 5


@pytest.mark.parametrize("schema", [branching(30), TREE, {"$ref": "#"}])
@pytest.mark.timeout(5)
def test_schemas_that_cost_too_much_check_nothing(schema: dict[str, Any]) -> None:
    """Branching references and circles end at once, whatever the arguments."""
    nested: Any = 5
    for _ in range(100):
        nested = {"l": nested}
    assert Tool("f", schema).mismatch({"a": nested}, 1000) is None


@pytest.mark.timeout(5)
def test_large_arguments_against_a_large_schema_are_not_checked() -> None:
    """A long list of values against a long list of alternatives is more than the bound."""
    schema = {"properties": {"a": {"items": {"enum": [{"n": n} for n in range(2_000)]}}}}
    assert Tool("f", schema).mismatch({"a": [{"n": -1}]}, 20) is not None
    assert Tool("f", schema).mismatch({"a": [{"n": -1}] * 4_000}, 100_000) is None
