"""Output dialects: one file each, one line each in this list."""

from tokenmill.dialects.agent import AGENT
from tokenmill.dialects.dialect import Dialect, Envelope
from tokenmill.dialects.interceptor import INTERCEPTOR
from tokenmill.dialects.native import NATIVE
from tokenmill.dialects.openai import OPENAI
from tokenmill.dialects.openai_completion import OPENAI_COMPLETION
from tokenmill.dialects.segments import SEGMENTS
from tokenmill.errors import ConfigError
from tokenmill.registry import Registry

__all__ = ["DIALECTS", "REGISTRY", "Dialect", "Envelope", "find_dialect"]

DIALECTS: tuple[Dialect, ...] = (NATIVE, AGENT, INTERCEPTOR, OPENAI, OPENAI_COMPLETION, SEGMENTS)
"""Every dialect; the first is the default."""

REGISTRY = Registry(DIALECTS)
"""These by name, and those of other packages."""


def find_dialect(name: str) -> Dialect:
    """The dialect of that name. Raises `ConfigError`."""
    dialect = REGISTRY.find(name)
    if dialect is None:
        raise ConfigError([f"outputs: unknown dialect {name!r}; known are {REGISTRY.names}"])
    return dialect
