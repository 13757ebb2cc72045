"""A configuration for display: every value, so that it can be read back, except secrets."""

from typing import Any
from urllib.parse import urlsplit

import msgspec

from tokenmill.config.base import MASKED, SECRETS
from tokenmill.config.sections import Config


def shown(config: Config) -> dict[str, Any]:
    """Sections, keys and values for TOML or JSON. A setting without a value is left out, because TOML has no null."""
    return {name: _shown(section) for name, section in msgspec.to_builtins(config).items() if section != []}


def _shown(value: Any) -> Any:
    if isinstance(value, list):
        return [_shown(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _masked(key, each) if key in SECRETS and each else _shown(each)
        for key, each in value.items()
        if each is not None and not (key in SECRETS and value.get(f"{key}_file"))
    }


def _masked(key: str, value: str) -> str:
    """A masked secret; in a URL only the password is masked, or a user without one, or all of it if it has a query."""
    url = urlsplit(value)
    if key != "url" or url.query:
        return MASKED
    credentials, at, _ = url.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    return value.replace(credentials + at, (f"{user}:{MASKED}" if password else MASKED) + at, 1) if at else value
