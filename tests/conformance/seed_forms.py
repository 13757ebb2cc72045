"""What of a stream's payloads is compared: adjacent deltas joined, made ids numbered, JSON as values, no times."""

import json
from typing import Any

Form = list[tuple[Any, ...]]


def value_of(text: Any) -> Any:
    """JSON text as a value; other text as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _join(form: Form, kind: str, text: str | None) -> None:
    """Add text to the item before, if that is of the same kind."""
    if text and form and form[-1][0] == kind:
        form[-1] = (kind, form[-1][1] + text)
    elif text:
        form.append((kind, text))


class Numbers:
    """Ids by the order in which they were seen first."""

    def __init__(self) -> None:
        self._seen: dict[Any, int] = {}

    def of(self, id_: Any) -> int:
        return self._seen.setdefault(id_, len(self._seen) + 1)


def s0(case: dict[str, Any], parts: list[Any]) -> Form:
    """Text, calls, other parts, and the reason as the model gave it, where the case has a finish part."""
    form, ids = Form(), Numbers()
    finishes = case["kind"] == "tool_choice" or any(
        isinstance(chunk, dict) and chunk["type"] == "finish" for chunk in case["chunks"]
    )
    for part in parts:
        kind = part["type"]
        if kind in ("text", "text-delta"):
            _join(form, "text", part["text" if kind == "text" else "delta"])
        elif kind == "tool-call":
            form.append(("call", part["toolName"], value_of(part["input"])))
        elif kind == "finish":
            reason = part["finishReason"]
            if finishes:
                told = reason.get("raw", reason.get("unified")) if isinstance(reason, dict) else reason
                form.append(("finish", told, part.get("usage")))
        elif not kind.startswith(("text-", "tool-input-", "error")):
            numbered = {key: ids.of(part[key]) for key in ("id", "toolCallId", "approvalId") if key in part}
            form.append(("other", {**part, **numbered}))
    whole = case["kind"] == "generated_text"
    return [item for item in form if not (whole and item[0] == "text" and not item[1].strip())]


def s1(_case: dict[str, Any], chunks: list[Any]) -> Form:
    """Text, calls with the arguments as a value, reason, usage, the end."""
    form = Form()
    for chunk in chunks:
        if chunk == "[DONE]":
            form.append(("done",))
            continue
        if chunk.get("usage"):
            form.append(("usage", chunk["usage"]))
        for choice in chunk.get("choices") or []:
            _join(form, "text", choice["delta"].get("content"))
            for call in choice["delta"].get("tool_calls") or []:
                function = call["function"]
                if function.get("name"):
                    form.append(("call", function["name"], ""))
                if function.get("arguments"):
                    form[-1] = ("call", form[-1][1], form[-1][2] + function["arguments"])
            if choice.get("finish_reason"):
                form.append(("final", choice["finish_reason"]))
    return [(*item[:2], value_of(item[2])) if item[0] == "call" else item for item in form]


def s2(case: dict[str, Any], events: list[Any]) -> Form:
    """Text, thinking, and of calls the source text, which is raw."""
    form, ids, call = Form(), Numbers(), "assistant_streaming_tool_call"
    if case["config"].get("interleaving") == "free":
        events = sorted(events, key=lambda event: event["type"] == call)
    for event in events:
        kind = event["type"]
        if kind == "assistant_streaming_message":
            _join(form, "text", event["content"])
        elif kind == "assistant_streaming_thinking_message":
            _join(form, "thinking", event["content"])
        elif kind == "assistant_thinking_message":
            form.append(("thought", event["content"]))
        elif kind == call:
            about = (ids.of(event["toolCallId"]), event["toolName"])
            if event["isComplete"]:
                form.append(("complete", *about))
            elif form and form[-1][:3] == ("call", *about):
                form[-1] = ("call", *about, form[-1][3] + event["arguments"])
            else:
                form.append(("call", *about, event["arguments"]))
    return form


def s3(case: dict[str, Any], events: list[Any]) -> Form:
    """Segments in the order of their starts, adjacent text as one; for a provider's calls the order of the ends."""
    found: dict[str, dict[str, Any]] = {}
    ends, config = list[int](), case["config"]
    for event in events:
        if not event["type"].startswith("SEGMENT_"):
            continue
        about, body = event["segment_id"], event["payload"]
        if event["type"] == "SEGMENT_START":
            prefixed = about.startswith(config.get("segment_id_prefix", ""))
            told = (event["segment_type"], body.get("metadata"), prefixed)
            found[about] = {"told": told, "content": "", "end": "open"}
        elif event["type"] == "SEGMENT_CONTENT":
            found[about]["content"] += body["delta"]
        else:
            found[about]["end"] = body.get("metadata") if config["segment_end_metadata"] else None
            ends.append(list(found).index(about))
    form = Form()
    for segment in found.values():
        item = (segment["told"], segment["content"], segment["end"])
        is_text = segment["told"][0] == "text"
        if is_text and form and form[-1][0][0] == "text":
            form[-1] = (form[-1][0], form[-1][1] + segment["content"], segment["end"])
        elif segment["content"] or not is_text:
            form.append(item)
    return [*form, ("ends", ends)] if "handler" in config else form


def s4(_case: dict[str, Any], tokens: list[Any]) -> Form:
    """Narrative, and calls as their text."""
    form = Form()
    for token in tokens:
        if token["type"] == "narrative":
            _join(form, "narrative", token["text"])
        elif token["type"] == "tool_call":
            form.append(("call", token["text"], bool(token.get("incomplete"))))
    return form


FORMS = {"s0": s0, "s1": s1, "s2": s2, "s3": s3, "s4": s4}


def calls_of(events: list[Any]) -> list[list[Any]]:
    """Names and arguments of native calls, or of those that a case expects to be run."""
    calls = [event for event in events if event.get("type", "tool-call") == "tool-call"]
    return [[call["tool"], call["params"]] if "tool" in call else [call["name"], call["arguments"]] for call in calls]


def message_calls(calls: list[Any] | None) -> list[list[Any]]:
    """The same of calls in a message of chat completions."""
    return [[call["function"]["name"], value_of(call["function"]["arguments"])] for call in calls or []]


def errors_of(payloads: list[Any]) -> int:
    """Error parts, but for those that this system alone has: unknown tools and schemas."""
    told = [json.dumps(part) for part in payloads if isinstance(part, dict) and part.get("type") == "error"]
    return sum("unknown-tool" not in part and "schema-mismatch" not in part for part in told)
