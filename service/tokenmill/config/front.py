"""The settings of the front and of the caller behind it."""

from typing import Annotated

from msgspec import Meta

from tokenmill.config.base import Positive, PositiveInt, Section

LONGEST_ANSWER_S = 86_400.0
"""Of any answer, from its request's time, whatever the request says: it holds back what is committed."""


class Front(Section, frozen=True, kw_only=True):
    """The APIs of OpenAI and Anthropic in front of any model server: `tokenmill front`. Who is let in, from which
    pages, and what one client can cost, is as `[gateway]` says.
    """

    bind: str = "127.0.0.1"
    """Address that clients come to. Any but the loopback's is refused without `gateway.auth`."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8093
    """Port that clients come to; 0 takes a free one."""
    ops_bind: str = "0.0.0.0"  # noqa: S104 # metrics and health are asked for from outside the pod
    """Address of `/metrics`, `/healthz` and `/readyz`."""
    ops_port: Annotated[int, Meta(ge=0, le=65_535)] = 8094
    """Port of those; 0 takes a free one."""
    body_kib: PositiveInt = 1_000
    """The longest body of a request. It is a record on the topic of requests, with all images in it."""
    first_s: Positive = 10
    """How long the headers of a stream wait for the first event, so that a failure has its own status. Later a failure
    is told in the stream."""
    answer_s: Annotated[float, Meta(gt=0, le=LONGEST_ANSWER_S)] = 900
    """How long an answer may take, from its request to its end. What is not over then ends as one that failed. No more
    than a day, as its request holds back what is committed."""
    disconnect_s: Annotated[float, Meta(ge=0)] = 30
    """After this time without a reader an answer is stopped, unless its request was `background` or had the header
    `tm-resumable: true`."""
    retry_s: Positive = 60
    """How long an answer that is over is given to the same body of the same client, sent again by an SDK that retries.
    One that is not over is given to it at any time. Otherwise each try would be a generation of its own."""
    remember_s: Positive = 600
    """How long an `Idempotency-Key` stands for one request. A front reads the requests of this time, or those of
    `answer_s` and `retry_s` together if that is longer, at its start."""
    drain_s: Positive = 10
    """From SIGTERM to exit: who reads is told to come back; below the 30 s that Kubernetes gives."""


class Caller(Section, frozen=True, kw_only=True):
    """Who calls the model servers: part of `tokenmill front`, or `tokenmill caller` by itself."""

    bind: str = "0.0.0.0"  # noqa: S104 # metrics and health are asked for from outside the pod
    """Address of `/metrics`, `/healthz` and `/readyz` of `tokenmill caller`."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8095
    """Port of those; 0 takes a free one."""
    group_id: str = "tokenmill-callers"
    """Consumer group of those that call. They share the partitions of `requests`; one that is lost is followed by the
    next owner of its partitions."""
    lease_s: Positive = 5
    """A caller writes something of each answer at least three times in this time. One of which nothing came for
    that long is taken over."""
    answers: PositiveInt = 1_000
    """Answers of the process that are under way; more are told to come back later (429)."""
    drain_s: Positive = 25
    """How long a process that is stopped lets answers go on. Those that are not over are taken over."""
