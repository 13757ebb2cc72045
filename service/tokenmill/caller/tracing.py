"""OpenTelemetry for an answer: a span, and measurements of its duration, its first token and its token counts.

Names are those of the semantic conventions for generative AI.
"""

from urllib.parse import urlsplit

from tokenmill.apis.ask import BadAsk
from tokenmill.caller.answer import Answer
from tokenmill.observe.caller_table import Outcome
from tokenmill.observe.telemetry import Attributes, Telemetry, Value
from tokenmill.usage import tokens

OPERATION, MODEL = "gen_ai.operation.name", "gen_ai.request.model"


async def traced(telemetry: Telemetry, answer: Answer) -> Outcome:
    """Run an answer, and return its outcome. Its records, and the requests to model servers, are part of its span."""
    if not telemetry.on:
        return await answer.run()
    about = _request_attributes(answer)
    with telemetry.span(f"chat {about[MODEL]}", "client", answer.tracing, about) as span:
        answer.tracing = span.headers
        outcome = await answer.run()
        span.say(_response_attributes(answer))
        failure = {} if outcome == "finished" else {"error.type": answer.failure or outcome}
        if failure and outcome != "stopped":
            span.failed(failure["error.type"])
    _measure(telemetry, answer, {**about, **failure})
    return outcome


def _request_attributes(answer: Answer) -> dict[str, Value]:
    """Return the attributes that are known from the start. The conversation's id is no label: it has many values."""
    about: dict[str, Value] = {OPERATION: "chat", MODEL: "", "gen_ai.conversation.id": answer.conversation}
    try:
        served, plan = answer.read()
    except BadAsk:
        return about
    given = {"max_tokens": plan.ask.max_tokens, "temperature": plan.ask.temperature, "top_p": plan.ask.top_p}
    about |= {f"gen_ai.request.{name}": value for name, value in given.items() if value is not None}
    where = urlsplit(served.upstream.urls[0]) if len(served.upstream.urls) == 1 else None
    return about | {
        MODEL: plan.ask.model,
        "gen_ai.provider.name": served.upstream.kind,
        **({"server.address": where.hostname or ""} if where else {}),
    }


def _response_attributes(answer: Answer) -> Attributes:
    """Return the span's attributes about the response."""
    reasons = [reason for _, reason in sorted(answer.reasons.items())]
    found: dict[str, Value] = {"gen_ai.response.finish_reasons": reasons}
    if answer.first_s is not None:
        found["gen_ai.response.time_to_first_chunk"] = answer.first_s
    return found | {f"gen_ai.usage.{kind}_tokens": count for kind, count in _usage(answer).items()}


def _usage(answer: Answer) -> dict[str, int]:
    """Return token counts by kind; empty if the server gave none."""
    if not answer.usage:
        return {}
    counts = tokens(answer.usage)
    return {"input": counts.input, "output": counts.output}


LABELS = (OPERATION, MODEL, "gen_ai.provider.name", "error.type")
"""Attributes that are labels of measurements: each has few values."""


def _measure(telemetry: Telemetry, answer: Answer, about: Attributes) -> None:
    labels = {name: about[name] for name in LABELS if name in about}
    telemetry.measure("gen_ai.client.operation.duration", answer.took_s, labels)
    if answer.first_s is not None:
        telemetry.measure("gen_ai.client.operation.time_to_first_chunk", answer.first_s, labels)
    for kind, count in _usage(answer).items():
        telemetry.measure("gen_ai.client.token.usage", count, {**labels, "gen_ai.token.type": kind})
