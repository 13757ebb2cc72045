"""Rights by a function of the operator's."""

import asyncio
import sys
from types import ModuleType
from typing import Any

import msgspec
import pytest

from tokenmill.errors import ConfigError
from tokenmill.gateway import Credentials, Grant
from tokenmill.gateway.auth.function import FunctionAuthorizer
from tokenmill.gateway.problems import Refused

WEB = Grant("web", ("web-*",), frozenset({"read"}))
SECRET = "do not tell"


async def lets_in(credentials: Credentials) -> Grant | None:
    return WEB if credentials.headers.get("x-forwarded-user") == "web" else None


async def raises(credentials: Credentials) -> Grant:
    raise RuntimeError(f"this is not valid: {credentials.headers['authorization']}")


async def hangs(_: Credentials) -> Grant:
    await asyncio.Event().wait()
    raise AssertionError


async def answers_text(_: Credentials) -> Any:
    return "web"


async def answers_an_object(_: Credentials) -> Any:
    return object()


async def answers_patterns_as_text(_: Credentials) -> Grant:
    return msgspec.structs.replace(WEB, conversations="web-*")


async def answers_unknown_actions(_: Credentials) -> Grant:
    return msgspec.structs.replace(WEB, actions=frozenset({"everything"}))


async def answers_loosely(_: Credentials) -> Grant:
    return msgspec.structs.replace(WEB, conversations=["web-*"], actions={"read"})


def waits_for_nothing(_: Credentials) -> Grant:
    return WEB


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "their_rights", sys.modules[__name__])


async def refusal(name: str) -> Refused:
    function = FunctionAuthorizer(f"their_rights:{name}", deadline_s=0.05)
    with pytest.raises(Refused) as refused:
        await function.grant(Credentials({"authorization": f"Bearer {SECRET}"}))
    return refused.value


async def test_the_function_lets_in_whom_it_knows() -> None:
    """Its grant is what counts."""
    function = FunctionAuthorizer("their_rights:lets_in")
    assert await function.grant(Credentials({"x-forwarded-user": "web"})) == WEB
    assert function.holds(WEB)
    assert (await refusal("lets_in")).kind.status == 401


@pytest.mark.parametrize("name", ["raises", "hangs"])
async def test_what_the_function_raises_lets_nobody_in(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """The log says kind and place; the text of the error may quote the token, so it is not shown to anybody."""
    refused = await refusal(name)
    assert refused.kind.status == 401
    assert "test_function.py" in caplog.text or "TimeoutError" in caplog.text
    assert SECRET not in caplog.text + refused.body().decode()
    assert refused.__cause__ is None


@pytest.mark.parametrize(
    "name", ["answers_text", "answers_patterns_as_text", "answers_unknown_actions", "answers_an_object"]
)
async def test_an_answer_that_is_no_grant_lets_nobody_in(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Above all patterns that are one text: each of its characters would be one, and `*` opens everything."""
    assert (await refusal(name)).kind.status == 401
    assert "did not return a Grant" in caplog.text


async def test_lists_and_sets_will_do() -> None:
    """What is meant is clear."""
    assert await FunctionAuthorizer("their_rights:answers_loosely").grant(Credentials()) == WEB


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere:who", "nowhere:who can't be imported"),
        ("their_rights:nobody", "their_rights:nobody can't be imported"),
        ("their_rights", "their_rights can't be imported"),
        ("", "can't be imported"),
        ("their_rights:waits_for_nothing", "is not an `async` function"),
        ("their_rights:SECRET", "is not an `async` function"),
    ],
)
def test_a_name_that_leads_to_no_function_stops_the_start(name: str, sentence: str) -> None:
    """The key comes first, so the line can be found."""
    with pytest.raises(ConfigError, match=f"gateway.function: .*{sentence}"):
        FunctionAuthorizer(name)


def test_a_module_that_can_not_be_imported_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it raises."""

    class Broken(ModuleType):
        def __getattr__(self, name: str) -> Any:
            raise ZeroDivisionError("in their module")

    monkeypatch.setitem(sys.modules, "their_rights", Broken("their_rights"))
    with pytest.raises(ConfigError, match="ZeroDivisionError: in their module"):
        FunctionAuthorizer("their_rights:who")
