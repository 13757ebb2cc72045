"""The settings of tools."""

from typing import Annotated, TypeAlias

from msgspec import Meta

from tokenmill.config.base import Positive, PositiveInt, Section

RULE = r"^(allow|ask|deny) [^\s()]+(\([^()=,]+=[^()=,]*(,[^()=,]+=[^()=,]*)*\))?$"

Rule: TypeAlias = Annotated[str, Meta(extra_json_schema={"pattern": RULE})]
"""`ACTION TOOL`, or `ACTION TOOL(ARGUMENT=PATTERN, …)`. What is wrong with one, `relations` says in words."""


class Tools(Section, frozen=True, kw_only=True):
    """Calls of models, run through the Model Context Protocol: `tokenmill tools`."""

    servers_file: str = ""
    """A JSON file with `mcpServers`, in the shape that clients of the protocol share. `${NAME}` in it stands for a
    variable of the environment."""
    bind: str = "0.0.0.0"  # noqa: S104 # metrics and health are asked for from outside the pod
    """Address of `/metrics`, `/healthz` and `/readyz` of `tools run`."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8092
    """Port of those; 0 takes a free one."""
    connect_s: Positive = 30
    """How long a server may take to start, and to say which tools it has."""
    call_s: Positive = 60
    """How long a call may take. The server is told when that is over."""
    group_id: str = "tokenmill-tools"
    """Consumer group of those that run calls. They share the partitions of `tool-calls`."""
    repeat: tuple[str, ...] = ()
    """Names of tools, `*` for any part, that may be run again when whoever ran them was lost. What a server says of its
    tools is a hint; this is your word. The call of another tool is in doubt then."""
    policy: tuple[Rule, ...] = ()
    """Rows such as `ask files__write_file(path=/srv/*)`, with `allow`, `ask` or `deny`; the first that fits a call
    decides. `*` stands for any text. What none fits is allowed. `ask`: somebody has to approve of it on
    `topics.tool_control`."""
    approve_s: Positive = 300
    """How long a call waits for that."""
    calls_per_answer: PositiveInt = 64
    """Calls of one answer that are run: a model that does not stop calling is stopped."""
    cancel_with_message: bool = True
    """The calls of a message that is cancelled are stopped with it, those that run, too; their servers are told."""
    expire_s: Positive = 900
    """A call that is older is not run any more: nobody waits for it."""
    calls: PositiveInt = 500
    """Calls that run at once in a process; as many more wait in it."""
    calls_per_server: PositiveInt = 16
    """Of one server."""
    handover_s: Positive = 10
    """How long a rebalance waits for calls that run, so that none of them comes to be in doubt: at most half of
    `kafka.rebalance_timeout_ms`."""
    drain_s: Positive = 25
    """How long a process that is stopped waits for them. What runs even then is in doubt: make it longer than calls."""
