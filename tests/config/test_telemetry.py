"""Settings of OpenTelemetry."""

from pathlib import Path

import pytest

from tokenmill.config import TelemetrySection, load_config
from tokenmill.errors import ConfigError


def test_nobody_is_told_unless_somebody_is_named() -> None:
    """And then of every trace that begins here."""
    assert TelemetrySection() == TelemetrySection(endpoint="", sample=1.0, interval_s=60)


def test_a_part_of_traces_is_a_part(tmp_path: Path) -> None:
    """What is none is refused by name."""
    path = tmp_path / "tokenmill.toml"
    path.write_text("[telemetry]\nsample = 1.5\n")
    with pytest.raises(ConfigError, match=r"telemetry\.sample"):
        load_config(path, {})
