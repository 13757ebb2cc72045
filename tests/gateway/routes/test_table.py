"""The table of routes: what is served, no more and no less."""

import asyncio
import re
from typing import Any

import pytest
import uvloop
from aiohttp import web

from tokenmill.config import Config, Gateway, Kafka
from tokenmill.gateway import host
from tokenmill.gateway.http.app import client_app
from tokenmill.gateway.problems import KINDS
from tokenmill.gateway.routes.table import EVERYWHERE, ROUTES, Route
from tokenmill.process import Deadline

AWAITED: set[tuple[str, str]] = set()
"""Rows of routes that nobody serves yet. May only get shorter."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[web.Application]:
    """The applications that a process makes for clients."""
    made: list[web.Application] = []

    def make(*parts: Any) -> web.Application:
        made.append(client_app(*parts))
        return made[-1]

    monkeypatch.setattr(host, "client_app", make)
    return made


async def served(bootstrap: str, made: list[web.Application]) -> set[tuple[str, str]]:
    """Methods and paths of a process that listens."""
    settings = Gateway(port=0, ops_bind="127.0.0.1", ops_port=0)
    config = Config(gateway=settings, kafka=Kafka(bootstrap_servers=bootstrap))
    async with host.Process(config, Deadline())._served(asyncio.Event()):
        resources = made[0].router.resources()
        routes = ((route.method, resource.canonical) for resource in resources for route in resource)
        return {route for route in routes if route[0] not in {"OPTIONS", "*"}}


@pytest.mark.integration
def test_the_table_has_what_is_served(kafka: str, made: list[web.Application]) -> None:
    """A new route gets its row, a row that nobody serves goes."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(served(kafka, made)) | AWAITED == {(route.method, route.path) for route in ROUTES}


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
