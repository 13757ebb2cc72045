"""vLLM's server, started without `--tool-call-parser` and `--reasoning-parser`.

vLLM 0.33.0: with `tool_choice: none`, tools are in the prompt, unless `--exclude-tools-when-tool-choice-none` is set,
and the text is unchanged (`vllm/renderers/online_renderer.py`). `auto`, the default if there are tools, is refused
without a parser (`entrypoints/openai/chat_completion/protocol.py`). Special tokens, such as the markers of many models,
are in the text only if they are not skipped.
"""

from tokenmill.apis.ask import Json
from tokenmill.caller.kinds.kind import Call, Kind, Plan, chat_body, given
from tokenmill.caller.kinds.raw_text import template_messages, template_variables

REASONING = ("reasoning", "reasoning_content")
"""Names for the reasoning of an earlier turn: newer versions read only the first, older ones and some templates the
second."""

CONTINUED: Json = {"continue_final_message": True, "add_generation_prompt": False}
"""Fields that have the server continue the last message, which is the beginning of the answer."""


class Vllm(Kind):
    """Chat completions with raw text."""

    name = "vllm"
    summary = "chat completions with `tool_choice: none`, which keeps the tools in the prompt, and no token skipped"
    continued = True

    def call(self, plan: Plan) -> Call:
        """Return the streamed chat completion."""
        return Call("/v1/chat/completions", raw_chat(plan), "sse+openai")


def raw_chat(plan: Plan) -> Json:
    """Return the body of a chat completion whose text is as the model wrote it."""
    return {
        **chat_body(plan, template_messages(plan, *REASONING)),
        **given(tool_choice="none" if plan.tools else None),
        **template_kwargs(plan),
        "skip_special_tokens": False,
        "spaces_between_special_tokens": False,
        **(CONTINUED if plan.begins else {}),
    }


def template_kwargs(plan: Plan) -> Json:
    """Return the field with variables for the chat template, if there are any."""
    variables = template_variables(plan)
    return {"chat_template_kwargs": variables} if variables else {}


VLLM = Vllm()
