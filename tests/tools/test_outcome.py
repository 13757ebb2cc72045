"""Whether a call is made."""

from typing import Any

import pytest

from tokenmill.tools.catalogue import Catalogue, Tool
from tokenmill.tools.outcome import Outcome, checked

FORECAST = Tool(
    server="weather",
    name="forecast",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def test_a_call_that_fits_is_made() -> None:
    """Of the tool that its server calls otherwise."""
    assert checked(Catalogue([FORECAST]), "weather__forecast", {"city": "Rome"}) is FORECAST


@pytest.mark.parametrize(
    ("name", "arguments", "code", "says"),
    [
        ("forecast", {"city": "Rome"}, "unknown-tool", "there is no tool 'forecast'; known are weather__forecast"),
        ("weather__forecast", {}, "schema-mismatch", '"city" is a required property'),
        ("weather__forecast", {"city": 7}, "schema-mismatch", 'city: 7 is not of type "string"'),
    ],
)
def test_a_call_that_does_not_fit_is_not(name: str, arguments: dict[str, Any], code: str, says: str) -> None:
    """Whatever the model came up with."""
    refused = checked(Catalogue([FORECAST]), name, arguments)
    assert isinstance(refused, Outcome)
    assert (refused.code, refused.error) == (code, says)
