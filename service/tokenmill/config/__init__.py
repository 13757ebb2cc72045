"""Settings: one TOML file, every key also as an environment variable `TOKENMILL_SECTION__KEY`.

Nothing is guessed: an unknown key, a wrong type or a contradiction is refused with the key's name, and all problems are
reported together.
"""

from tokenmill.config.base import Section
from tokenmill.config.front import Caller, Front
from tokenmill.config.gateway import Gateway
from tokenmill.config.read import load_config
from tokenmill.config.sections import Config, ExtraOutput, Kafka, ParserSection, Redis, Topics, Worker
from tokenmill.config.telemetry import TelemetrySection
from tokenmill.config.tools import Tools
from tokenmill.config.upstreams import Upstream

__all__ = [
    "Caller",
    "Config",
    "ExtraOutput",
    "Front",
    "Gateway",
    "Kafka",
    "ParserSection",
    "Redis",
    "Section",
    "TelemetrySection",
    "Tools",
    "Topics",
    "Upstream",
    "Worker",
    "load_config",
]
