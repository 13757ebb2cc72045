"""What fields do, in each API."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.apis.bodies import BY_NAME, GOOD, ask, param, read, refusal
from tokenmill.apis import APIS, Field, Fields, name_at
from tokenmill.apis.ask import Ask, BadAsk
from tokenmill.apis.reading import Node
from tokenmill.apis.refusals import error_body
from tokenmill.dialects import find_dialect

ROWS = [(api.name, row) for api in APIS for row in api.fields.rows if "." not in row.name]

OTHER = {"x": "y"}
"""A value that nothing takes for what is so anyway."""


def rows(does: str) -> list[Any]:
    return [pytest.param(api, row, id=f"{api}-{row.name}") for api, row in ROWS if row.does == does]


@pytest.mark.parametrize(("api", "row"), rows("refused"))
def test_what_is_refused_is_refused_by_name(api: str, row: Field) -> None:
    """Unless it says what is so anyway, or nothing."""
    refused = refusal(api, **{row.name: OTHER})
    assert (refused.param, refused.code) == (row.name, "unsupported_parameter")
    assert row.text in str(refused)
    for value in (None, *row.accepts):
        assert ask(api, **{row.name: value}) == ask(api)


@pytest.mark.parametrize(("api", "row"), rows("noted"))
def test_what_is_noted_changes_nothing(api: str, row: Field) -> None:
    """Whatever it says."""
    assert ask(api, **{row.name: OTHER}) == ask(api, **{row.name: None})


@pytest.mark.parametrize(("api", "row"), rows("forwarded"))
def test_what_is_forwarded_is_passed_on(api: str, row: Field) -> None:
    """As it stands; null is nothing."""
    assert ask(api, **{row.name: 7}).forwarded[row.name] == 7
    assert row.name not in ask(api, **{row.name: None}).forwarded


@pytest.mark.parametrize(("api", "row"), rows("used"))
def test_what_is_used_is_read(api: str, row: Field) -> None:
    """A value of another kind is refused, there or at one of its members."""
    assert param(api, **{row.name: [3]}).startswith(row.name)


def test_unknown_fields_of_chats_are_passed_on() -> None:
    """Model servers have many of their own."""
    assert ask("chat", top_k=3, min_p=None, chat_template_kwargs={"a": 1}).forwarded == {
        "top_k": 3,
        "chat_template_kwargs": {"a": 1},
    }
    assert ask("chat", **{"stream_options.include_usage": 3}).forwarded == {"stream_options.include_usage": 3}


@pytest.mark.parametrize("api", ["responses", "messages"])
def test_unknown_fields_elsewhere_are_refused(api: str) -> None:
    """By name, as far as that can be printed."""
    refused = refusal(api, **{"to\np": 3})
    assert (refused.param, refused.code) == ("to�p", "unknown_parameter")
    assert ask(api, top_p=None, unheard_of=None) == ask(api)


def test_members_are_held_against_the_table() -> None:
    """Of a field that is an object."""
    fields = Fields(
        Field("a", "used", ""), Field("a.b", "noted", ""), Field("a.c", "refused", "no."), unknown="noted", about=""
    )
    assert fields.check_within(Node({}), "a") is None
    assert fields.check_within(Node({"a": {"b": 1}}), "a") == Node({"b": 1}, "a")
    for name, code in (("c", "unsupported_parameter"), ("d", "unknown_parameter")):
        with pytest.raises(BadAsk) as refused:
            fields.check_within(Node({"a": {name: 1}}), "a")
        assert (refused.value.param, refused.value.code) == (f"a.{name}", code)


def test_true_is_not_one() -> None:
    """A value that is taken is of the same type."""
    assert param("chat", logprobs=0) == "logprobs"
    assert param("chat", top_logprobs=False) == "top_logprobs"


def test_every_api_has_its_place() -> None:
    """Names, paths and prefixes are given once; its dialects exist."""
    assert set(BY_NAME) == set(GOOD)
    assert len({api.path for api in APIS}) == len({api.prefix for api in APIS}) == len(APIS)
    for api in APIS:
        assert [find_dialect(name).name for name in (api.dialect, api.whole)] == [api.dialect, api.whole]


def test_a_field_is_named_as_its_api_names_it() -> None:
    """Every name is one that the client may have sent."""
    assert [name_at(api, "response_format") for api in ("chat", "responses", "messages")] == [
        "response_format",
        "text.format",
        "output_config.format",
    ]
    for api in APIS:
        for field, name in api.names.items():
            assert name_at(api.name, field) == name
            assert {name, name.split(".")[0]} & {row.name for row in api.fields.rows}


# Whatever a client sends


def _scalars() -> st.SearchStrategy[Any]:
    words = st.sampled_from(["user", "assistant", "text", "function", "message", "auto", "input_text", "tool_result"])
    texts = st.text(st.characters(codec=None), max_size=5)  # halves of surrogate pairs among them
    return st.none() | st.booleans() | st.integers(-3, 10**30) | st.floats() | texts | words


def _names() -> st.SearchStrategy[str]:
    known = [row.name.split(".")[0] for _, row in ROWS]
    return st.sampled_from([*known, "role", "content", "type", "text", "id", "name", "function"]) | st.text(max_size=3)


JSON = st.recursive(
    _scalars(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names(), inner, max_size=4), max_leaves=20
)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every member of the value, by what holds it and its name or number there."""
    members = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    return [(value, name) for name, _ in members] + [place for _, member in members for place in _places(member)]


@pytest.mark.parametrize("api", GOOD)
@given(body=JSON)
@settings(max_examples=300, deadline=None)
def test_any_json_is_read_or_refused(api: str, body: Any) -> None:
    """Nothing else comes of it."""
    assert isinstance(read(api, body), Ask | BadAsk)


@pytest.mark.parametrize("api", GOOD)
@given(data=st.data())
@settings(max_examples=400, deadline=None)
def test_a_good_body_with_a_mistake_is_read_or_refused(api: str, data: st.DataObject) -> None:
    """And a refusal can be told: it has a sentence of a bounded length, and says which field it is about."""
    body = deepcopy(GOOD[api])
    for _ in range(data.draw(st.integers(1, 3))):
        holder, name = data.draw(st.sampled_from(_places(body)))
        holder[name] = data.draw(JSON)
    told = read(api, body)
    if isinstance(told, BadAsk):
        assert told.param
        assert len(str(told)) < 1000
        assert error_body(BY_NAME[api], 400, str(told), param=told.param, code=told.code)


@pytest.mark.parametrize("api", GOOD)
def test_deep_and_huge_values_are_read_or_refused(api: str) -> None:
    """At every place of a good body."""
    deep: Any = []
    for _ in range(50_000):
        deep = [deep]
    for value in (deep, {"a": deep}, 10**5000, -(10**5000), "x" * 1_000_000, float("inf"), "\ud800"):
        for at in range(len(_places(GOOD[api]))):
            body = deepcopy(GOOD[api])
            holder, name = _places(body)[at]
            holder[name] = value
            told = read(api, body)
            assert not isinstance(told, BadAsk) or len(str(told)) < 1000
