"""The answer of a request without `stream`, made from the payloads of dialects for whole answers.

Counts of tokens. Servers count all choices of one request together, and the codec gives each choice these counts: then
all are the same and are reported once. Where choices differ they were counted separately: the prompt counts once, and
the written tokens are added up. Choices without counts, such as failed ones, do not count.

Payloads are read by Python's own reader, as msgspec refuses halves of surrogate pairs, which a model may write.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tokenmill.apis.api import Api
from tokenmill.apis.ask import Json
from tokenmill.apis.refusals import error_body
from tokenmill.dialects.json_text import json_bytes

Payloads: TypeAlias = Mapping[int, Sequence[bytes]]
"""Payloads of an answer, by its choice."""

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


def whole_answer(api: Api, payloads_by_choice: Payloads) -> bytes:
    """Return the whole answer, from the payloads of the dialect `api.whole`. Raises `ValueError` if no choice has
    one.
    """
    ended = {choice: payloads[-1] for choice, payloads in sorted(payloads_by_choice.items()) if payloads}
    if not ended:
        raise ValueError("no choice has ended")
    return _JOINS[api.name](api, list(ended.values()))


def _completions(_api: Api, payloads: Sequence[bytes]) -> bytes:
    if len(payloads) == 1:
        return payloads[0]
    read = [json.loads(payload) for payload in payloads]
    whole: Json = read[0] | {"choices": [choice for each in read for choice in each["choices"]]}
    whole["usage"] = joined_usage([each["usage"] for each in read])
    for name in ("error", "metadata"):
        node = [value for each in read if (value := each.get(name)) is not None]
        whole |= {name: node[0]} if node else {}
    return json_bytes(whole)


def joined_usage(usages: Sequence[Json]) -> Json:
    """Return the counts of all choices, from those of each, as in chat completions."""
    told = [usage for usage in usages if usage.get("total_tokens")]
    if not told or all(usage == told[0] for usage in told):
        return dict(told[0] if told else usages[0])
    prompt = max(told, key=lambda usage: _count(usage.get("prompt_tokens")))
    written = sum(_count(usage.get("completion_tokens")) for usage in told)
    read = _count(prompt.get("prompt_tokens"))
    whole: Json = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    if details := prompt.get("prompt_tokens_details"):
        whole["prompt_tokens_details"] = details
    if reasoning := sum(_reasoning(usage) for usage in told):
        whole["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return whole


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _reasoning(usage: Json) -> int:
    return _count((usage.get("completion_tokens_details") or {}).get("reasoning_tokens"))


def _response(api: Api, payloads: Sequence[bytes]) -> bytes:
    end = json.loads(payloads[0])
    if end["type"] in _ENDS:
        return json_bytes(end["response"])
    return error_body(api, 500, end.get("message") or "the answer did not end", code=end.get("code") or "")


def _message(_api: Api, payloads: Sequence[bytes]) -> bytes:
    return payloads[0]


_JOINS: Mapping[str, Callable[[Api, Sequence[bytes]], bytes]] = {
    "chat": _completions,
    "responses": _response,
    "messages": _message,
}
