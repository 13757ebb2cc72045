"""The APIs that clients speak: what their requests ask for, and how answers and refusals are written in them."""

from collections.abc import Mapping

from tokenmill.apis.api import Api, Field, Fields
from tokenmill.apis.ask import Ask, BadAsk
from tokenmill.apis.chat import CHAT
from tokenmill.apis.messages import MESSAGES
from tokenmill.apis.responses import RESPONSES

__all__ = ["APIS", "CHAT", "MESSAGES", "RESPONSES", "Api", "Ask", "BadAsk", "Field", "Fields", "name_at"]

APIS: tuple[Api, ...] = (
    CHAT,
    RESPONSES,
    MESSAGES,
)
"""Every API."""

_NAMES: Mapping[str, Mapping[str, str]] = {api.name: api.names for api in APIS}


def name_at(api: str, field: str) -> str:
    """Return an API's name for a field of `Ask`, so that a refusal names what the client sent."""
    return _NAMES[api].get(field, field)
