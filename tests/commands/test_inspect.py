"""`tokenmill inspect`; what it does is tested with `inspector/`."""

from pathlib import Path

import pytest

from tokenmill.__main__ import main
from tokenmill.commands import inspect
from tokenmill.config import Config
from tokenmill.inspector.playground import Recording


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[Recording | None]:
    """What the page would be given."""
    found: list[Recording | None] = []

    def run(config: Config, recording: Recording | None, *, live: bool) -> int:
        assert config.inspect.bind == "127.0.0.1"
        assert live is (config.kafka.bootstrap_servers == "k:1")
        found.append(recording)
        return 0

    monkeypatch.setattr(inspect, "run_inspector", run)
    return found


def test_the_page_can_be_had_alone_or_with_a_file(given: list[Recording | None], tmp_path: Path) -> None:
    """Bytes that are no text are shown as what stands for them."""
    stream = tmp_path / "stream.txt"
    stream.write_bytes(b"data: \xff\n\n")
    assert main(["inspect"]) == main(["inspect", str(stream)]) == main(["inspect", "--live", "--bootstrap", "k:1"]) == 0
    assert given == [None, Recording("stream.txt", "data: \ufffd\n\n"), None]


def test_a_file_that_is_too_long_is_refused(
    given: list[Recording | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what to do."""
    monkeypatch.setattr(inspect, "BODY_BYTES", 20)
    stream = tmp_path / "stream.txt"
    stream.write_bytes(b"x" * 11)
    assert main(["inspect", str(stream)]) == 1
    assert "cut out what matters" in capsys.readouterr().err
    assert given == []
