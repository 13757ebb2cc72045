"""A file that is read again when it changes."""

import logging
import os
import resource
from pathlib import Path

import pytest

from tests.support.clock import Clock
from tokenmill.errors import ConfigError
from tokenmill.gateway.auth.reloading_file import LOOK_S, ReloadingFile


def number(content: bytes) -> int:
    if not content.isdigit():
        raise ValueError("is no number")
    return int(content)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "number"
    path.write_text("1")
    return path


@pytest.fixture
def clock() -> Clock:
    return Clock(100.0)


@pytest.fixture
def watched(file: Path, clock: Clock) -> ReloadingFile[int]:
    return ReloadingFile(file, "gateway.keys_file", number, clock)


def test_a_change_counts_a_second_later(watched: ReloadingFile[int], file: Path, clock: Clock) -> None:
    """The file is looked at once a second, however often it is asked for."""
    file.write_text("22")
    assert watched.value() == 1
    clock.now += LOOK_S
    assert watched.value() == 22
    file.write_text("333")
    assert watched.value() == 22


def test_a_file_that_is_put_in_its_place_is_another_one(watched: ReloadingFile[int], file: Path, clock: Clock) -> None:
    """As editors do it, and Kubernetes with what is mounted: same size, and even the same time."""
    new = file.with_name("new")
    new.write_text("2")
    state = file.stat()
    os.utime(new, ns=(state.st_atime_ns, state.st_mtime_ns))
    new.replace(file)
    clock.now += LOOK_S
    assert watched.value() == 2


@pytest.mark.parametrize("broken", ["x", None])
def test_a_broken_file_changes_nothing_and_is_said_once(
    watched: ReloadingFile[int], file: Path, clock: Clock, caplog: pytest.LogCaptureFixture, broken: str | None
) -> None:
    """What was read before stays until the file is in order again."""
    if broken is None:
        file.unlink()
    else:
        file.write_text(broken)
    for _ in range(3):
        clock.now += LOOK_S
        assert watched.value() == 1
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(errors) == 1
    assert "gateway.keys_file" in errors[0]
    file.write_text("333")
    clock.now += LOOK_S
    assert watched.value() == 333


def test_a_change_that_could_not_be_read_is_read_later(
    watched: ReloadingFile[int], file: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """The process had no file left: a key that was taken out would open everything until the next change."""
    file.write_text("22")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        for _ in range(3):
            clock.now += LOOK_S
            assert watched.value() == 1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    clock.now += LOOK_S
    assert watched.value() == 22
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(errors) == 1
    assert "can't be read: Too many open files" in errors[0]


@pytest.mark.parametrize(("content", "sentence"), [("x", "is no number"), (None, "can't be read: No such file")])
def test_a_file_that_is_broken_at_start_stops_it(tmp_path: Path, content: str | None, sentence: str) -> None:
    """There is nothing to go on with."""
    if content is not None:
        (tmp_path / "number").write_text(content)
    with pytest.raises(ConfigError, match=rf"gateway.keys_file: .*number {sentence}"):
        ReloadingFile(tmp_path / "number", "gateway.keys_file", number)
