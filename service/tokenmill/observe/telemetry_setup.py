"""Whom a process tells what it does: a collector of OpenTelemetry, or nobody."""

from tokenmill.config import Config
from tokenmill.errors import MissingExtra
from tokenmill.observe.telemetry import NO_TELEMETRY, Telemetry


def telemetry_of(config: Config, role: str) -> Telemetry:
    """As the configuration asks for it; `role` is the process's. Raises `MissingExtra`."""
    if not config.telemetry.endpoint:
        return NO_TELEMETRY
    try:
        from tokenmill.observe.otel import OpenTelemetry  # noqa: PLC0415 -- its packages are an extra
    except ModuleNotFoundError as missing:
        raise MissingExtra("telemetry.endpoint", missing, "otel") from missing
    return OpenTelemetry(config.telemetry, role)
