"""Setup of a process's telemetry: an OpenTelemetry collector, or nothing."""

from tokenmill.config import Config
from tokenmill.errors import MissingExtra
from tokenmill.observe.telemetry import NO_TELEMETRY, Telemetry


def telemetry_of(config: Config, role: str) -> Telemetry:
    """The telemetry that the configuration asks for; `role` is the process's. Raises `MissingExtra`."""
    if not config.telemetry.endpoint:
        return NO_TELEMETRY
    try:
        from tokenmill.observe.otel import OpenTelemetry  # noqa: PLC0415 -- its packages are an extra
    except ModuleNotFoundError as missing:
        raise MissingExtra("telemetry.endpoint", missing, "otel") from missing
    return OpenTelemetry(config.telemetry, role)
