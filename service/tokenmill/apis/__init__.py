"""The APIs that clients speak: what their requests ask for, and how answers and refusals are said in them."""

from tokenmill.apis.api import Api, Field, Fields
from tokenmill.apis.ask import Ask, BadAsk
from tokenmill.apis.chat import CHAT
from tokenmill.apis.messages import MESSAGES
from tokenmill.apis.responses import RESPONSES

__all__ = ["APIS", "CHAT", "MESSAGES", "RESPONSES", "Api", "Ask", "BadAsk", "Field", "Fields"]

APIS: tuple[Api, ...] = (
    CHAT,
    RESPONSES,
    MESSAGES,
)
"""Every API."""
