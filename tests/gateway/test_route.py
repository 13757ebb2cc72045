"""What is said of a route is whole, and said once."""

import re

import pytest

from tokenmill.gateway.problems import KINDS
from tokenmill.gateway.route import Route
from tokenmill.gateway.routes import EVERYWHERE, ROUTES


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_parameters_of_the_path_are_described(route: Route) -> None:
    """Each once, and no other."""
    described = [each.name for each in route.parameters if each.place == "path"]
    assert described == re.findall(r"\{(\w+)\}", route.path)
    assert len({(each.place, each.name) for each in route.parameters}) == len(route.parameters)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_problems_are_said_once(route: Route) -> None:
    """Those of all routes are none of one."""
    assert set(route.problems).isdisjoint(EVERYWHERE)
    assert {*route.problems, *EVERYWHERE} <= set(KINDS)
