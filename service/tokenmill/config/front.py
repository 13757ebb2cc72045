"""The settings of the front and of the caller behind it."""

from typing import Annotated

from msgspec import Meta

from tokenmill.config.base import Positive, PositiveInt, Section

LONGEST_ANSWER_S = 86_400.0
"""Seconds that any answer may take from its request's time, whatever the request asks: it holds back commits."""


class Front(Section, frozen=True, kw_only=True):
    """The APIs of OpenAI and Anthropic in front of any model server: `tokenmill front`. `[gateway]` sets who has
    access, from which pages, and what one client can cost.
    """

    bind: str = "127.0.0.1"
    """Address that clients connect to. Any but the loopback's is refused without `gateway.auth`."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8093
    """Port that clients connect to; 0 takes a free one."""
    ops_bind: str = "0.0.0.0"  # noqa: S104 # metrics and health are asked for from outside the pod
    """Address of `/metrics`, `/healthz` and `/readyz`."""
    ops_port: Annotated[int, Meta(ge=0, le=65_535)] = 8094
    """Port of `/metrics`, `/healthz` and `/readyz`; 0 takes a free one."""
    body_kib: PositiveInt = 1_000
    """The longest body of a request. It becomes a record on the topic of requests, with all images in it."""
    first_s: Positive = 10
    """How long the headers of a stream wait for the first event, so that a failure has its own status. A later failure
    is reported in the stream."""
    answer_s: Annotated[float, Meta(gt=0, le=LONGEST_ANSWER_S)] = 900
    """How long an answer may take, from its request to its end; a longer one ends as failed. No more than a day,
    because its request holds back commits."""
    disconnect_s: Annotated[float, Meta(ge=0)] = 30
    """How long an answer goes on without a reader before it is stopped, unless its request was `background` or had the
    header `tm-resumable: true`."""
    retry_s: Positive = 60
    """How long a finished answer is given to the same body from the same client, sent again by an SDK that retries. One
    that is not finished is given to it at any time. Otherwise each try would be a generation of its own."""
    remember_s: Positive = 600
    """How long an `Idempotency-Key` stands for one request, at least: fronts know requests for this time, or for
    `answer_s` and `retry_s` together if that is longer, but no more than the last 200,000. At its start a front reads
    the requests of that period: at most a day, for which `requests` keeps them."""
    drain_s: Positive = 10
    """Time from SIGTERM to exit, in which readers are told to come back; below the 30 s that Kubernetes gives."""

    @property
    def known_s(self) -> float:
        """Seconds for which fronts know a request."""
        return max(self.remember_s, self.retry_s + self.answer_s)


class Caller(Section, frozen=True, kw_only=True):
    """The process that calls the model servers: part of `tokenmill front`, or `tokenmill caller` by itself."""

    bind: str = "0.0.0.0"  # noqa: S104 # metrics and health are asked for from outside the pod
    """Address of `/metrics`, `/healthz` and `/readyz` of `tokenmill caller`."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8095
    """Port of `/metrics`, `/healthz` and `/readyz` of `tokenmill caller`; 0 takes a free one."""
    group_id: str = "tokenmill-callers"
    """Consumer group of the callers. They share the partitions of `requests`; when one is lost, other callers take its
    partitions over."""
    lease_s: Positive = 5
    """How long an answer may be silent before another caller takes it over. A caller writes something of each answer at
    least three times in this period."""
    answers: PositiveInt = 1_000
    """Answers under way in the process; more requests are told to come back later (429)."""
    drain_s: Positive = 25
    """How long a process that is stopped lets answers continue. Other callers take over those that are not finished."""
