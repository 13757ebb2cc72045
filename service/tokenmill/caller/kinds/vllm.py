"""vLLM's server, started without `--tool-call-parser` and `--reasoning-parser`.

vLLM 0.33.0: tools are in the prompt with `tool_choice: none` unless `--exclude-tools-when-tool-choice-none`, and text
is not touched then (`vllm/renderers/online_renderer.py`); `auto`, which is what a missing word means where there are
tools, is refused without a parser (`entrypoints/openai/chat_completion/protocol.py`). Special tokens, as the markers
of many models are, come only if they are not skipped.
"""

from tokenmill.apis.ask import Json
from tokenmill.caller.kinds.kind import Call, Kind, Plan, chat_body, given
from tokenmill.caller.kinds.raw_text import template_messages, template_variables

REASONING = ("reasoning", "reasoning_content")
"""Of an earlier turn: newer versions read the first name alone, older ones and some templates the second."""

CONTINUED: Json = {"continue_final_message": True, "add_generation_prompt": False}
"""The last message is the beginning of the answer."""


class Vllm(Kind):
    """Chat completions without parsers."""

    name = "vllm"
    summary = "chat completions with `tool_choice: none`, which keeps the tools in the prompt, and no token skipped"
    continued = True

    def call(self, plan: Plan) -> Call:
        """The chat completion."""
        return Call("/v1/chat/completions", raw_chat(plan), "sse+openai")


def raw_chat(plan: Plan) -> Json:
    """A chat completion whose text is the model's."""
    return {
        **chat_body(plan, template_messages(plan, *REASONING)),
        **given(tool_choice="none" if plan.tools else None),
        **template_kwargs(plan),
        "skip_special_tokens": False,
        "spaces_between_special_tokens": False,
        **(CONTINUED if plan.begins else {}),
    }


def template_kwargs(plan: Plan) -> Json:
    """What the template is told, if it is told anything."""
    variables = template_variables(plan)
    return {"chat_template_kwargs": variables} if variables else {}


VLLM = Vllm()
