"""The limit of open files is raised to what is needed, and who set it too low is told so."""

import resource
from collections.abc import Iterator

import pytest

from tokenmill.gateway.http.open_files import OTHERS, allow_connections, report_none_left

SOFT, HARD = resource.getrlimit(resource.RLIMIT_NOFILE)
NEEDED = 500


def soft() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT, HARD))


def test_the_limit_becomes_what_is_needed(caplog: pytest.LogCaptureFixture) -> None:
    """Many systems start a program with 1,024, though it may have more; what is enough stays."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, HARD))
    allow_connections(NEEDED, "gateway.connections")
    assert soft() == NEEDED + OTHERS
    allow_connections(10, "gateway.connections")
    assert soft() == NEEDED + OTHERS
    assert not caplog.records


def test_a_hard_limit_that_is_too_low_is_logged_with_the_setting(caplog: pytest.LogCaptureFixture) -> None:
    """The process has what it may have, and serves as many as that allows."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, HARD))
    allow_connections(HARD, "gateway.connections")
    assert soft() == HARD
    (line,) = caplog.messages
    assert line.startswith(f"gateway.connections: {HARD} connections need {HARD + OTHERS} open files, ")
    assert f"may have {HARD}:" in line


def test_no_file_left_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing else reports it: the event loop closes new connections by itself."""
    report_none_left()
    assert not caplog.messages
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, HARD))
    try:
        report_none_left()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT, HARD))
    assert "new connections are closed unread" in caplog.text
