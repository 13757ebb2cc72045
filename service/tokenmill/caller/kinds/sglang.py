"""SGLang's server, started without `--tool-call-parser`; a reasoning parser may be on.

SGLang 0.5.23 (`sglang/srt/entrypoints/openai/serving_chat.py`): with `tool_choice: none` tools are not in the prompt,
with `auto` they are, and without a parser the text is not touched. `separate_reasoning: false` leaves reasoning in the
text. It notices that a connection is gone after two seconds; `/abort_request` stops at once.
"""

from tokenmill.caller.kinds.kind import Call, Kind, Plan, chat_body, given
from tokenmill.caller.kinds.raw_text import template_messages, template_variables
from tokenmill.caller.kinds.vllm import CONTINUED


class SGLang(Kind):
    """Chat completions without parsers."""

    name = "sglang"
    summary = "chat completions with `separate_reasoning: false`, and no token skipped"
    continued = True

    def call(self, plan: Plan) -> Call:
        """The chat completion, under an id of ours."""
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
        """By that id."""
        return Call("/abort_request", {"rid": call.body["rid"]})


SGLANG = SGLang()
