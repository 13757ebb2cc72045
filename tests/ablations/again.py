"""A plugin of pytest: each test runs as often as `--again` says, in one process."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option."""
    parser.addoption("--again", type=int, default=1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give every test one more parameter, which it does not use."""
    metafunc.fixturenames.append("again")
    metafunc.parametrize("again", range(metafunc.config.option.again))
