"""Setup of telemetry: nothing is exported unless the configuration asks for it."""

import subprocess
import sys

import pytest

from tokenmill.config import Config, TelemetrySection
from tokenmill.errors import MissingExtra
from tokenmill.observe.otel import OpenTelemetry
from tokenmill.observe.telemetry import NO_TELEMETRY
from tokenmill.observe.telemetry_setup import telemetry_of


@pytest.mark.integration
def test_nobody_is_told_by_default() -> None:
    """No exporter is even imported, in any of the hosts. Other packages may import the API."""
    assert telemetry_of(Config(), "worker") is NO_TELEMETRY
    hosts = ("worker.host", "gateway.host", "front.host", "tools.host")
    program = "import sys\n" + "".join(f"import tokenmill.{host}\n" for host in hosts)
    program += (
        "print([name for name in sys.modules if name.startswith(('opentelemetry.exporter', 'tokenmill.observe.otel'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is asked for without its packages."""
    monkeypatch.delitem(sys.modules, "tokenmill.observe.otel")
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    message = r"telemetry\.endpoint needs opentelemetry, .*pip install 'tokenmill\[otel\]'"
    with pytest.raises(MissingExtra, match=message):
        telemetry_of(Config(telemetry=TelemetrySection(endpoint="http://127.0.0.1:9")), "worker")


def test_whoever_is_named_is_told() -> None:
    """With the role of the process."""
    told = telemetry_of(Config(telemetry=TelemetrySection(endpoint="http://127.0.0.1:9")), "worker")
    assert isinstance(told, OpenTelemetry)
    assert told.on
