"""llama.cpp's server: it renders the prompt, and completes it.

llama.cpp of October 2026 (`tools/server/server-context.cpp`): `/apply-template` takes the body of a chat completion and
answers its prompt; `/completion` goes on from there and parses nothing. A special token has no text there unless it is
among `preserved_tokens`, so the format's markers are. Its last event repeats the whole prompt unless `response_fields`
say what is wanted of it.
"""

import msgspec

from tokenmill.apis.ask import Json
from tokenmill.caller.kinds.kind import Call, Kind, Plan, choosing, found_in, given, single, text_only
from tokenmill.caller.kinds.raw_text import template_messages, template_variables

LAST_EVENT = ("content", "stop", "stop_type", "stopping_word", "tokens_predicted", "tokens_evaluated")
"""What its codec reads of the last event: with a long prompt in it, it would be longer than an event may be."""


class _Rendered(msgspec.Struct):
    """An answer that is a prompt."""

    prompt: str | None = None


class LlamaCpp(Kind):
    """Two requests: the prompt, then its completion."""

    name = "llama.cpp"
    summary = "`/apply-template` for the prompt, `/completion` for the text, with the format's markers preserved"

    def check(self, plan: Plan) -> None:
        """There is one answer, and a prompt that is text has no images."""
        single(plan)
        text_only(plan)

    def rendering(self, plan: Plan) -> Call | None:
        """By the server's own template."""
        template = template_variables(plan) | given(reasoning_effort=plan.ask.reasoning_effort)
        body = {
            "messages": template_messages(plan, "reasoning_content"),
            **given(tools=plan.tools),
            **({"chat_template_kwargs": template} if template else {}),
        }
        return Call("/apply-template", body)

    def prompt_of(self, answer: bytes) -> str | None:
        """As it says it."""
        found = found_in(answer, _Rendered)
        return found.prompt if found else None

    def call(self, plan: Plan) -> Call:
        """The completion."""
        ask = plan.ask
        body = {
            **{name: value for name, value in ask.forwarded.items() if name != "chat_template_kwargs"},
            "prompt": f"{plan.prompt}{plan.begins}",
            **choosing(ask),
            **given(
                n_predict=ask.max_tokens,
                json_schema=_schema(ask.response_format),
                preserved_tokens=list(plan.markers),
            ),
            "response_fields": list(LAST_EVENT),
            "stream": True,
        }
        return Call("/completion", body, "sse+llama_cpp")


def _schema(response_format: Json | None) -> Json | None:
    """What an answer has to be, as a JSON schema; None: anything."""
    if response_format is None or response_format.get("type") == "text":
        return None
    schema = response_format.get("json_schema", {}).get("schema")
    return schema if isinstance(schema, dict) else {"type": "object"}


LLAMA_CPP = LlamaCpp()
