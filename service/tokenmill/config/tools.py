"""The settings of tools."""

from typing import Annotated, TypeAlias

from msgspec import Meta

from tokenmill.config.base import Positive, PositiveInt, Section

RULE = r"^(allow|ask|deny) [^\s()]+(\([^()=,]+=[^()=,]*(,[^()=,]+=[^()=,]*)*\))?$"

Rule: TypeAlias = Annotated[str, Meta(extra_json_schema={"pattern": RULE})]
"""`ACTION TOOL`, or `ACTION TOOL(ARGUMENT=PATTERN, …)`. `relations` describes what is wrong with one."""


class Tools(Section, frozen=True, kw_only=True):
    """Calls of models, run through the Model Context Protocol: `tokenmill tools`."""

    servers_file: str = ""
    """A JSON file with `mcpServers`, in the form that clients of the protocol share. `${NAME}` in it stands for an
    environment variable."""
    bind: str = "0.0.0.0"  # noqa: S104 # metrics and health are asked for from outside the pod
    """Address of `/metrics`, `/healthz` and `/readyz` of `tools run`."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8092
    """Port of `/metrics`, `/healthz` and `/readyz` of `tools run`; 0 takes a free one."""
    connect_s: Positive = 30
    """How long a server may take to start and to list its tools."""
    call_s: Positive = 60
    """How long a call may take. After that the server is told to cancel it."""
    group_id: str = "tokenmill-tools"
    """Consumer group of the tool runners. They share the partitions of `tool-calls`."""
    repeat: tuple[str, ...] = ()
    """Names of tools, `*` for any part, whose calls may be run again if their runner was lost. Servers only give hints
    about this; the decision is yours. A lost call of any other tool is in doubt."""
    policy: tuple[Rule, ...] = ()
    """Rows such as `ask files__write_file(path=/srv/*)`, with `allow`, `ask` or `deny`; the first that fits a call
    decides. `*` stands for any text. A call that no row fits is allowed. `ask`: somebody has to approve the call on
    `topics.tool_control`."""
    approve_s: Positive = 300
    """How long a call waits for approval."""
    calls_per_answer: PositiveInt = 64
    """Calls of one answer that are run, so that a model that does not stop calling is stopped."""
    cancel_with_message: bool = True
    """Whether cancelling a message also cancels its calls, even running ones; their servers are notified."""
    expire_s: Positive = 900
    """Age after which a call is no longer run, because nobody waits for it."""
    calls: PositiveInt = 500
    """Calls that run at the same time in a process; as many again may wait in it."""
    calls_per_server: PositiveInt = 16
    """Calls that run at the same time on one server."""
    handover_s: Positive = 10
    """How long a rebalance waits for running calls, so that none of them ends up in doubt: at most half of
    `kafka.rebalance_timeout_ms`."""
    drain_s: Positive = 25
    """How long a process that is stopped waits for running calls. Calls that still run then are in doubt, so make it
    longer than calls take."""
