"""The shape that an answer has to have."""

from typing import Any

import pytest

from tests.apis.bodies import SCHEMA, ask, param

INNER = {"name": "a", "schema": SCHEMA, "strict": True, "description": "d"}


@pytest.mark.parametrize(
    ("api", "changes", "expected"),
    [
        ("chat", {"response_format": None}, None),
        ("chat", {"response_format": {"type": "text"}}, None),
        ("chat", {"response_format": {"type": "json_object"}}, {"type": "json_object"}),
        (
            "chat",
            {"response_format": {"type": "json_schema", "json_schema": INNER}},
            {"type": "json_schema", "json_schema": INNER},
        ),
        ("responses", {"text": None}, None),
        ("responses", {"text": {"format": {"type": "text"}}}, None),
        ("responses", {"text": {"format": {"type": "json_object"}}}, {"type": "json_object"}),
        (
            "responses",
            {"text": {"format": {"type": "json_schema", **INNER}}},
            {"type": "json_schema", "json_schema": INNER},
        ),
        (
            "messages",
            {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
            {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}},
        ),
    ],
)
def test_every_spelling(api: str, changes: dict[str, Any], expected: Any) -> None:
    """It is that of chat completions."""
    assert ask(api, **changes).response_format == expected


@pytest.mark.parametrize(
    ("api", "changes", "place"),
    [
        ("chat", {"response_format": {"type": "grammar"}}, "response_format.type"),
        ("chat", {"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        (
            "chat",
            {"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}},
            "response_format.json_schema.schema",
        ),
        ("responses", {"text": {"format": {"type": "json_schema", "schema": {}}}}, "text.format.name"),
        ("messages", {"output_config": {"format": {"type": "text"}}}, "output_config.format.type"),
    ],
)
def test_others_are_refused(api: str, changes: dict[str, Any], place: str) -> None:
    """Where they stand."""
    assert param(api, **changes) == place
