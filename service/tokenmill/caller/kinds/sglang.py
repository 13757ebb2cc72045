"""SGLang's server, started without `--tool-call-parser`; a reasoning parser may be on.

SGLang 0.5.23 (`sglang/srt/entrypoints/openai/serving_chat.py`): with `tool_choice: none` tools are not in the prompt;
with `auto` they are, and without a parser the text is unchanged. `separate_reasoning: false` leaves reasoning in the
text. It notices after two seconds that a connection was closed; `/abort_request` stops an answer immediately.
"""

from tokenmill.caller.kinds.kind import Call, Kind, Plan, chat_body, given
from tokenmill.caller.kinds.raw_text import template_messages, template_variables
from tokenmill.caller.kinds.vllm import CONTINUED


class SGLang(Kind):
    """Chat completions with raw text."""

    name = "sglang"
    summary = "chat completions with `separate_reasoning: false`, and no token skipped"
    continued = True

    def call(self, plan: Plan) -> Call:
        """Return the streamed chat completion, with an id by which it can be aborted."""
        body = {
            **chat_body(plan, template_messages(plan, "reasoning_content")),
            **given(tool_choice="auto" if plan.tools else None),
            "skip_special_tokens": False,
            "separate_reasoning": False,
            **(CONTINUED if plan.begins else {}),
        }
        spaces = {"spaces_between_special_tokens": False}
        body["chat_template_kwargs"] = template_variables(plan) | spaces
        return Call("/v1/chat/completions", body | {"rid": plan.answer}, "sse+openai")

    def abort(self, call: Call) -> Call | None:
        """Return the request that stops the answer with the call's id."""
        return Call("/abort_request", {"rid": call.body["rid"]})


SGLANG = SGLang()
