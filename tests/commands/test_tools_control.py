"""`tokenmill tools approve` and `cancel`, with a runner that asks."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import click
import pytest
import tomli_w
from click.testing import CliRunner

from tests.support.approvals import asked_about
from tests.support.stage import until
from tests.support.tool_calls import Calls
from tests.support.topics import read_topic
from tokenmill.commands.tools import command
from tokenmill.commands.tools_control import _row
from tokenmill.errors import Unavailable
from tokenmill.tools.control import Cancel, read_control

pytestmark = pytest.mark.integration


@pytest.fixture
async def calls(kafka: str, unique: str, tmp_path: Path) -> AsyncIterator[Calls]:
    """Calls of `note` wait for a word."""
    async with Calls(tmp_path, kafka, unique, policy=["ask weather__note"]) as calls:
        (tmp_path / "tokenmill.toml").write_text(tomli_w.dumps(calls.settings))
        yield calls


async def said(calls: Calls, *arguments: str) -> str:
    """What the command prints."""
    config = str(calls.folder / "tokenmill.toml")
    words = [arguments[0], "--config", config, *arguments[1:]]

    def run() -> str:
        done = CliRunner().invoke(command, words, standalone_mode=False, catch_exceptions=False)
        assert done.return_value == 0
        return done.stdout

    return await asyncio.to_thread(run)


async def waiting(calls: Calls) -> dict[str, str]:
    """Approvals by the words of the calls that wait."""
    rows = (await said(calls, "approve")).splitlines()[1:]
    found = [re.fullmatch(r"(\w{12})  +\d+ +c\d +weather__note  .*\"words\":\"(\w+)\".*", row) for row in rows]
    assert all(found), rows
    return {each[2]: each[1] for each in found if each}


async def test_calls_wait_for_a_word(calls: Calls) -> None:
    """One is approved of, one refused; and one that runs is stopped."""
    calls.runner().start()
    for id_ in ("yes", "no", "long"):
        await calls.call(id_, partition=1, seconds=60 if id_ == "long" else 0)
    await calls.call("free", "weather__forecast", city="Rome")
    found = await until(lambda: _all_of(calls, "yes", "no", "long"), "all three wait")
    assert calls.effects() == []
    assert "approved: weather__note of c1" in await said(calls, "approve", found["yes"], found["long"])
    assert "refused" in await said(calls, "approve", found["no"], "--refuse", "--as", "Ada", "--why", "not today")
    await until(lambda: calls.answered("yes", "no", "free"), "three are answered")
    await until(lambda: "begin long" in calls.effects(), "the long one runs")
    with pytest.raises(click.BadParameter, match="no call waits"):
        await said(calls, "approve", found["yes"])
    assert await said(calls, "approve") == "no call waits\n"
    await said(calls, "cancel", "c1", "m")
    await until(lambda: calls.answered("long"), "the long one is stopped")
    results = {id_: (one.error, one.code) for id_, (one,) in (await calls.results()).items() if one.error}
    assert results == {"no": ("refused by Ada: not today", "denied"), "long": ("the call was cancelled", "cancelled")}
    assert "end long" not in calls.effects()


def test_whoever_approves_sees_all_arguments() -> None:
    """However long they are, and what can't be seen by its number: the word is about all of them."""
    arguments = {"content": "A" * 5_000, "path": "/home/u\u202e\u200b/.ssh"}
    request = asked_about(conversation_id="c\n1", name="f\x1b[2J", arguments=arguments)
    *_, conversation, name, shown = _row(request)
    assert (conversation, name) == ("c 1", "f<U+001B>[2J")
    assert shown == f'{{"content":"{"A" * 5_000}","path":"/home/u<U+202E><U+200B>/.ssh"}}'


async def test_who_has_no_name_may_speak_too(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user of a container has a number only."""

    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 65532")

    monkeypatch.setattr("getpass.getuser", nobody)
    await said(calls, "cancel", "c1", "m")
    (record,) = await read_topic(calls.bootstrap, calls.topics.tool_control)
    assert read_control(record.value) == Cancel(conversation_id="c1", message_id="m")


@pytest.mark.parametrize("name", ["", "9", "9c1185a5c5e"])
async def test_a_word_names_its_call_in_full(calls: Calls, name: str) -> None:
    """What a shell makes of an unset variable approves of nothing."""
    calls.runner().start()
    await calls.call("one")
    await until(lambda: _all_of(calls, "one"), "it waits")
    with pytest.raises(click.BadParameter, match="is too short: give at least the 12 characters"):
        await said(calls, "approve", name)
    with pytest.raises(click.UsageError, match="--refuse needs an APPROVAL"):
        await said(calls, "approve", "--refuse")
    assert list(await waiting(calls)) == ["one"]


async def test_without_its_topic_nothing_is_cancelled(calls: Calls) -> None:
    """It is said what to do, at once."""
    settings = {**calls.settings, "topics": {**calls.settings["topics"], "tool_control": "nowhere"}}
    (calls.folder / "tokenmill.toml").write_text(tomli_w.dumps(settings))
    with pytest.raises(Unavailable, match="no topic nowhere: `tokenmill topics create` makes it"):
        await said(calls, "cancel", "c1")


async def _all_of(calls: Calls, *words: str) -> dict[str, str] | None:
    found = await waiting(calls)
    return found if found.keys() == set(words) else None
