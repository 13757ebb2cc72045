"""Calls of custom tools, as OpenAI's APIs have them: the tool takes a text where a function takes JSON.

A model is told of a function with one argument, and calls it as any other. Events have that call; dialects of OpenAI's
shapes write it as a custom one if the message names the tool in its option `custom_tools`. It is written when it is
complete, as its text stands within JSON until then.
"""

from collections.abc import Mapping
from typing import Any

from tokenmill.dialects.arguments import whole
from tokenmill.dialects.dialect import Envelope

INPUT = "input"
"""The function's argument."""


def is_custom(envelope: Envelope, name: str) -> bool:
    """Whether the message calls this tool with a text."""
    return name in envelope.request.custom_tools


def input_of(arguments: Mapping[str, Any]) -> str:
    """Return the text of a call; all its arguments as JSON if the model wrote others."""
    text = arguments.get(INPUT)
    return text if isinstance(text, str) and len(arguments) == 1 else whole(arguments)


def arguments_of(text: str) -> str:
    """Return the function's arguments as JSON text, for a call that a client sends back."""
    return whole({INPUT: text})
