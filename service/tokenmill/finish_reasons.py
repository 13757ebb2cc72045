"""Reasons for a message's end: providers' words as native ones."""

from tokenmill.events import FinishReason

_NATIVE: dict[str, FinishReason] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "eos_token", "completed", "complete"), "stop"),
    **dict.fromkeys(("tool-calls", "tool_calls", "tool_call", "tool_use", "function_call"), "tool-calls"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length", "incomplete"), "length"),
    **dict.fromkeys(("model_context_window_exceeded", "error_limit", "repetition"), "length"),
    **dict.fromkeys(("content-filter", "content_filter", "content_filtered", "safety", "refusal"), "content-filter"),
    **dict.fromkeys(("recitation", "blocklist", "prohibited_content", "spii", "model_armor"), "content-filter"),
    **dict.fromkeys(("image_safety", "image_prohibited_content", "image_recitation"), "content-filter"),
    **dict.fromkeys(("guardrail_intervened", "sensitive", "error_toxic"), "content-filter"),
    **dict.fromkeys(("error", "failed", "network_error", "insufficient_system_resource"), "error"),
    **dict.fromkeys(("malformed_model_output", "malformed_tool_use", "malformed_response"), "error"),
    **dict.fromkeys(("malformed_function_call", "unexpected_tool_call", "too_many_tool_calls"), "error"),
    **dict.fromkeys(("missing_thought_signature",), "error"),
    **dict.fromkeys(("cancelled", "canceled", "cancel", "user_cancel", "abort"), "cancelled"),
    **dict.fromkeys(("timeout",), "timeout"),
}  # fmt: skip

CUT_OFF_REASONS: frozenset[FinishReason] = frozenset({"length", "content-filter", "error", "cancelled", "timeout"})
"""Reasons of an answer that the model could not complete."""


def finish_reason(raw: str | None, *, called: bool) -> FinishReason:
    """The native reason; `called`: a call was completed, which a plain stop does not show."""
    reason = _NATIVE.get((raw or "").lower(), "stop")
    return "tool-calls" if called and reason == "stop" else reason
