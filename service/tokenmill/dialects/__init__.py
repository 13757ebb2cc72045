"""Output dialects: one file each, one line each in this list."""

from tokenmill.dialects.agent import AGENT
from tokenmill.dialects.dialect import Dialect, Envelope
from tokenmill.dialects.interceptor import INTERCEPTOR
from tokenmill.dialects.native import NATIVE
from tokenmill.dialects.openai import OPENAI
from tokenmill.dialects.openai_completion import OPENAI_COMPLETION
from tokenmill.dialects.segments import SEGMENTS
from tokenmill.errors import ConfigError

__all__ = ["DIALECTS", "Dialect", "Envelope", "find_dialect"]

DIALECTS: tuple[Dialect, ...] = (NATIVE, AGENT, INTERCEPTOR, OPENAI, OPENAI_COMPLETION, SEGMENTS)
"""Every dialect; the first is the default."""

_BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


def find_dialect(name: str) -> Dialect:
    """The dialect of that name. Raises `ConfigError`."""
    dialect = _BY_NAME.get(name)
    if dialect is None:
        raise ConfigError([f"outputs: unknown dialect {name!r}; known are {', '.join(_BY_NAME)}"])
    return dialect
