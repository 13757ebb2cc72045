"""A configuration as it is shown: everything with its value, so that it can be read back, but for secrets."""

from typing import Any
from urllib.parse import urlsplit

import msgspec

from tokenmill.config.base import MASKED, SECRETS
from tokenmill.config.sections import Config


def shown(config: Config) -> dict[str, Any]:
    """Sections, keys and values as TOML and JSON have them. What is not set has no key there, as TOML has no null."""
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
    """A secret; of a URL only the password is one, wherever it stands, or a user who has none."""
    url = urlsplit(value)
    if key != "url" or url.query:
        return MASKED
    credentials, at, _ = url.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    return value.replace(credentials + at, (f"{user}:{MASKED}" if password else MASKED) + at, 1) if at else value
