"""Output dialects: one file each, one line each in this list."""

from tokenmill.dialects.ag_ui import AG_UI
from tokenmill.dialects.ai_sdk_ui import AI_SDK_UI
from tokenmill.dialects.anthropic import ANTHROPIC
from tokenmill.dialects.anthropic_message import ANTHROPIC_MESSAGE
from tokenmill.dialects.dialect import Dialect, Envelope
from tokenmill.dialects.native import NATIVE
from tokenmill.dialects.openai import OPENAI
from tokenmill.dialects.openai_completion import OPENAI_COMPLETION
from tokenmill.dialects.openai_responses import OPENAI_RESPONSES
from tokenmill.dialects.rendering import Renderer
from tokenmill.dialects.session import SESSION
from tokenmill.errors import ConfigError
from tokenmill.registry import Registry

__all__ = ["DIALECTS", "Dialect", "Envelope", "Renderer", "find_dialect"]

DIALECTS: Registry[Dialect] = Registry(
    (
        NATIVE,
        AG_UI,
        AI_SDK_UI,
        ANTHROPIC,
        ANTHROPIC_MESSAGE,
        OPENAI,
        OPENAI_COMPLETION,
        OPENAI_RESPONSES,
        SESSION,
    )
)
"""Every dialect by name, including those of other packages; the first is the default."""


def find_dialect(name: str) -> Dialect:
    """Return the dialect of that name. Raises `ConfigError`."""
    dialect = DIALECTS.find(name)
    if dialect is None:
        raise ConfigError([f"unknown dialect {name!r}; {DIALECTS.instead_of(name)}"])
    return dialect
