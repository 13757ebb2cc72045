"""Rights by keys."""

import hashlib
import logging
from pathlib import Path

import pytest

from tokenmill.errors import ConfigError
from tokenmill.gateway.auth.api_keys import KeyAuthorizer, read_keys
from tokenmill.gateway.auth.grant import Credentials, Grant
from tokenmill.gateway.auth.reloading_file import LOOK_S
from tokenmill.gateway.problems import Refused

KEY = "7d1c0b5e5a4f"
OTHER = "0fe3aa8124cc"


def row(key: str, name: str = "web", conversations: str = '["web-*"]', actions: str = '["read", "stop"]') -> str:
    digest = hashlib.sha256(key.encode()).hexdigest()
    return f'[[keys]]\nname = "{name}"\nsha256 = "{digest}"\nconversations = {conversations}\nactions = {actions}\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "keys.toml"
    path.write_text(row(KEY) + row(OTHER, "ops", '["*"]', '["stop"]'))
    return path


@pytest.fixture
def keys(file: Path) -> KeyAuthorizer:
    return KeyAuthorizer(file)


def later(keys: KeyAuthorizer, file: Path, content: str) -> None:
    """Write the file anew, as if it had been looked at longer ago."""
    file.write_text(content)
    keys._file._next_look -= LOOK_S


def bearer(key: str) -> Credentials:
    return Credentials({"authorization": f"Bearer {key}"})


@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
async def test_a_key_opens_what_its_row_says(keys: KeyAuthorizer, header: str) -> None:
    """In either header; keys do not expire."""
    value = f"Bearer {KEY}" if header == "authorization" else KEY
    grant = await keys.grant(Credentials({header: value}))
    assert (grant.name, grant.conversations, grant.actions) == ("web", ("web-*",), frozenset({"read", "stop"}))
    assert grant.expires is None
    assert keys.holds(grant)


@pytest.mark.parametrize(("headers", "reason"), [({}, "missing"), ({"x-api-key": "x"}, "wrong")])
async def test_who_has_no_key_is_told_apart_from_who_has_a_wrong_one(
    keys: KeyAuthorizer, headers: dict[str, str], reason: str
) -> None:
    """A page can ask its user for one."""
    with pytest.raises(Refused) as refused:
        await keys.grant(Credentials(headers))
    assert refused.value.members == {"reason": reason}


@pytest.mark.parametrize("key", ["", "x", KEY[:-1], KEY.upper(), f"{KEY}, {KEY}", "\udcff", "x" * 100_000])
async def test_any_other_key_opens_nothing(keys: KeyAuthorizer, key: str) -> None:
    """Bytes that are no text, and two at once, neither."""
    with pytest.raises(Refused) as refused:
        await keys.grant(bearer(key))
    assert refused.value.kind.status == 401
    assert "www-authenticate" in refused.value.headers


async def test_half_a_character_opens_nothing(keys: KeyAuthorizer) -> None:
    """A frame of a WebSocket can hold what a header can't."""
    with pytest.raises(Refused):
        await keys.grant(bearer("\ud800"))


async def test_a_key_that_is_taken_out_opens_nothing_more_and_closes_what_it_opened(
    keys: KeyAuthorizer, file: Path
) -> None:
    """A leaked key is stopped without a restart, although another of the same name and rights takes its place."""
    grant = await keys.grant(bearer(KEY))
    ticket = Grant("web", ("web-1",), frozenset({"read"}), source=grant.source, by_ticket=True)
    later(keys, file, row("new key of the same name"))
    assert not keys.holds(grant)
    assert not keys.holds(ticket)
    with pytest.raises(Refused):
        await keys.grant(bearer(KEY))
    assert (await keys.grant(bearer("new key of the same name"))).name == "web"


async def test_a_key_that_may_do_less_closes_what_it_opened(keys: KeyAuthorizer, file: Path) -> None:
    """Tickets are measured by what they are for: one within the new rights goes on."""
    grant = await keys.grant(bearer(KEY))
    tickets = [
        Grant("web", (name,), frozenset({"read"}), source=grant.source, by_ticket=True) for name in ("web-1", "web-2")
    ]
    assert [keys.holds(ticket) for ticket in tickets] == [True, True]
    later(keys, file, row(KEY, conversations='["web-1"]'))
    assert not keys.holds(grant)
    assert [keys.holds(ticket) for ticket in tickets] == [True, False]


async def test_a_broken_file_keeps_the_keys(keys: KeyAuthorizer, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A slip of the pen must not lock everybody out; the log shows neither keys nor digests."""
    later(keys, file, row(KEY).replace("conversations", "conversation"))
    assert (await keys.grant(bearer(KEY))).name == "web"
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "keys.toml" in caplog.text
    assert KEY not in caplog.text
    assert hashlib.sha256(KEY.encode()).hexdigest() not in caplog.text


async def test_an_empty_list_locks_everybody_out(keys: KeyAuthorizer, file: Path) -> None:
    """It says so itself; a file that is empty was cut off while it was written, and is broken."""
    later(keys, file, "")
    assert (await keys.grant(bearer(KEY))).name == "web"
    later(keys, file, "keys = []")
    with pytest.raises(Refused):
        await keys.grant(bearer(KEY))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "missing required field `keys`"),
        ("keys = 3", "Expected `array`"),
        ("[[keys]]\nname =", "is not TOML"),
        ("keys = " + "[" * 10_000, "is not TOML"),
        (row(KEY).replace("sha256", "key"), r"`sha256`|`key`"),
        (row(KEY, actions='["raed"]'), "raed"),
        (row(KEY, conversations='"*"'), "Expected `array`, got `str`"),
        (row(KEY, name=""), "name"),
        (row(KEY) + row(KEY, "other"), "the same key twice"),
    ],
)
def test_a_broken_file_is_refused_at_start(tmp_path: Path, content: str, sentence: str) -> None:
    """With the place in the file, and without what stands there."""
    file = tmp_path / "keys.toml"
    file.write_text(content)
    with pytest.raises(ConfigError, match=sentence):
        KeyAuthorizer(file)


def test_a_key_in_place_of_its_digest_is_not_shown() -> None:
    """The commonest mistake puts the key itself into the file."""
    with pytest.raises(ValueError, match="sha256") as problem:
        read_keys(row(KEY).replace(hashlib.sha256(KEY.encode()).hexdigest(), "my secret key").encode())
    assert "my secret key" not in str(problem.value)
    with pytest.raises(ValueError, match="is not UTF-8"):
        read_keys(b"\xff")
