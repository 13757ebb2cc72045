"""The OpenAPI document is one, and says what the table of routes says."""

import json
from typing import Any

import openapi_spec_validator
import pytest

from tokenmill.gateway.routes.table import EVERYWHERE, ROUTES, Route
from tokenmill.gen import openapi

DOCUMENT: dict[str, Any] = json.loads(openapi.document())

each_route = pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")


def operation(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][route.path][route.method.lower()]
    return found


def test_it_is_an_openapi_document() -> None:
    """By the validator of the specification, references included."""
    openapi_spec_validator.validate(DOCUMENT)


@each_route
def test_every_route_is_in_it(route: Route) -> None:
    """With its parameters, answers and problems."""
    found = operation(route)
    said = {(each["in"], each["name"]) for each in found["parameters"]}
    assert said == {(each.place, each.name) for each in route.parameters if each.name != "ticket"}
    statuses = {answer.status for answer in route.answers}
    statuses |= {kind.status for kind in (*EVERYWHERE, *route.problems)}
    assert {int(status) for status in found["responses"]} == statuses
    assert ("requestBody" in found) == (route.body is not None)


def test_names_of_operations_are_given_once() -> None:
    """Generated clients have a method for each."""
    assert len({openapi.operation_id(route) for route in ROUTES}) == len(ROUTES)
