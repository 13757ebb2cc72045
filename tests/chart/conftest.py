"""The programs that these tests need are there before the first test begins, whose time is limited."""

import pytest

from tests.chart.tools import NAMES, tool


@pytest.fixture(scope="session", autouse=True)
def _tools() -> None:
    for name in NAMES:
        tool(name)
