"""Any server with OpenAI's chat completions, which may read calls and reasoning itself."""

from tokenmill.apis.ask import Json
from tokenmill.caller.kinds.kind import Base, Call, Plan, chat_body, given

LEFT_OUT = frozenset({"stream", "stream_options", "model", "metadata", "store"})
"""Of a client's own body: what is ours to say, and what is for the front."""


class OpenAI(Base):
    """Chat completions as they come."""

    name = "openai"
    summary = "chat completions as the client asks for them: what the server has parsed already is passed on"
    raw = False

    def call(self, plan: Plan) -> Call:
        """The client's own body, where it speaks this API."""
        if plan.api == "chat" and not plan.begins:
            own = {name: value for name, value in plan.body.items() if name not in LEFT_OUT}
            body = {**own, "model": plan.model, "stream": True, "stream_options": {"include_usage": True}}
        else:
            body = chat_body(plan) | _choice(plan)
        return Call("/v1/chat/completions", body, "sse+openai")


def _choice(plan: Plan) -> Json:
    ask = plan.ask
    named = {"type": "function", "function": {"name": ask.tool}}
    choice = named if ask.tool_choice == "named" else ask.tool_choice if ask.tool_choice != "auto" else None
    tools = ask.tools if ask.tool_choice in ("none", "named") else plan.tools
    return given(tools=tools, tool_choice=choice if ask.tools else None, parallel_tool_calls=ask.parallel_tool_calls)


OPENAI = OpenAI()
