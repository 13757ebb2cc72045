"""Fields of model servers' own that spoil an answer."""

import pytest

from tests.apis.bodies import ask, param, refusal
from tests.support.calling import chat, plan_of
from tokenmill.apis import Field
from tokenmill.apis.ask import BadAsk
from tokenmill.apis.chat_servers import SERVERS_OWN
from tokenmill.caller.kinds import KINDS, find_kind


@pytest.mark.parametrize("row", SERVERS_OWN, ids=lambda row: row.name)
@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_none_of_them_reaches_a_server(kind: str, row: Field) -> None:
    """Of any kind, not even one that a client's own body goes to as it is."""
    with pytest.raises(BadAsk) as refused:
        plan_of(kind, chat(**{row.name: {"a": 1}}))
    assert refused.value.param == row.name


def test_a_prompt_s_echo_is_refused_and_its_absence_is_not() -> None:
    """What asks for nothing is taken, and not passed on."""
    assert param("chat", echo=True) == "echo"
    assert "what the model writes" in str(refusal("chat", echo=True))
    assert ask("chat", echo=False, n_probs=0, return_tokens=False).forwarded == ask("chat").forwarded


def test_addresses_of_other_servers_do_not_come_from_a_request() -> None:
    """Servers would connect to them."""
    for name in ("kv_transfer_params", "bootstrap_host"):
        assert param("chat", **{name: {"remote_host": "10.0.0.1"}}) == name


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_counts_on_every_chunk_are_asked_of_no_server(kind: str) -> None:
    """The last ones count: who wants them all gets those."""
    wanted = chat(stream=True, stream_options={"include_usage": True, "continuous_usage_stats": True})
    plan = plan_of(kind, wanted)
    assert find_kind(kind).call(plan).body.get("stream_options") in (None, {"include_usage": True})
    assert param("chat", stream_options={"counts": True}) == "stream_options.counts"
