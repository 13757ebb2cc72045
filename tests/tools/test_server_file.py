"""The file that says which servers there are: what other clients write is read, what is wrong is said."""

import json
from codecs import BOM_UTF8
from typing import Any

import pytest

from tokenmill.errors import ConfigError
from tokenmill.tools.server_file import Program, Remote, Server, read_servers

ENVIRON = {"TOKEN": "s3cret", "HOME": "/home/me"}


def read(**servers: Any) -> tuple[Server, ...]:
    return read_servers(json.dumps({"mcpServers": servers}).encode(), ENVIRON)


def test_programs_and_addresses_are_servers() -> None:
    """In the file's order, with what other clients keep beside them passed over."""
    git: dict[str, Any] = {"command": "uvx", "args": ["mcp-server-git"], "env": {"A": "b"}, "alwaysAllow": ["log"]}
    web = {"type": "http", "url": "https://example.com/mcp", "headers": {"x-key": "k"}, "timeout": 60}
    assert read(git=git, my_web=web) == (
        Program("git", "uvx", ("mcp-server-git",), {"A": "b"}),
        Remote("my_web", "https://example.com/mcp", {"x-key": "k"}),
    )


def test_a_mark_of_byte_order_is_passed_over() -> None:
    """Some editors write one."""
    assert read_servers(BOM_UTF8 + b'{"mcpServers": {"a": {"command": "x"}}}', ENVIRON) == (Program("a", "x"),)


def test_a_server_that_is_disabled_is_none() -> None:
    """Whatever else its entry says."""
    assert read(off={"command": "x", "disabled": True}, on={"command": "y"}) == (Program("on", "y"),)


def test_a_server_may_have_bounds_of_its_own() -> None:
    """For how long its calls take, how many run at once, and how large its program becomes."""
    bounds = {"call_s": 2.5, "calls": 1}
    assert read(a={"command": "x", "memory_mib": 64, **bounds}, b={"url": "http://x/mcp", **bounds}) == (
        Program("a", "x", call_s=2.5, calls=1, memory_mib=64),
        Remote("b", "http://x/mcp", call_s=2.5, calls=1),
    )


def test_values_may_name_variables() -> None:
    """Everywhere, with what stands for those that are not set; a dollar alone is one."""
    one = {"command": "${SHELL:-sh}", "args": ["${HOME}/x", "$5"], "env": {"KEY": "${TOKEN}"}, "cwd": "${NONE:-}"}
    two = {"url": "https://${HOST:-example.com}/mcp", "headers": {"authorization": "Bearer ${TOKEN}"}}
    assert read(one=one, two=two) == (
        Program("one", "sh", ("/home/me/x", "$5"), {"KEY": "s3cret"}),
        Remote("two", "https://example.com/mcp", {"authorization": "Bearer s3cret"}),
    )


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({}, "expected a command or a url"),
        ({"command": "x", "url": "https://example.com"}, "expected a command or a url, not both"),
        ({"command": "x", "type": "http"}, "of the type http has a url"),
        ({"url": "https://example.com", "type": "stdio"}, "of the type stdio has a command"),
        ({"url": "https://example.com", "type": "sse"}, "type is 'sse'; expected stdio or http; ask its makers"),
        ({"url": "https://example.com", "type": "ftp"}, "type is 'ftp'; expected stdio or http"),
        ({"url": "ftp://example.com"}, "expected http:// or https://"),
        ({"url": "https:///mcp"}, "expected http:// or https://"),
        ({"command": "${NOWHERE}"}, "the variable NOWHERE is not set"),
        ({"command": "x", "calls": 0}, "Expected `int` >= 1"),
        ({"command": 7}, "Expected `str`, got `int`"),
        ("x", "Expected `object`, got `str`"),
    ],
)
def test_what_is_wrong_is_said_with_the_servers_name(entry: Any, says: str) -> None:
    """And nothing is guessed."""
    with pytest.raises(ConfigError, match=r"^mcpServers\.one: ") as refused:
        read(one=entry)
    assert says in str(refused.value)


@pytest.mark.parametrize("name", ["", "a__b", "_a", "a_", "a b", "a.b", "ä"])
def test_names_become_parts_of_names(name: str) -> None:
    """Of tools, which have few characters to use, and in which two `_` say where the server's name ends."""
    with pytest.raises(ConfigError, match="because it is part of its tools' names"):
        read(**{name: {"command": "x"}})


def test_all_that_is_wrong_is_said_at_once() -> None:
    """Server by server."""
    with pytest.raises(ConfigError) as refused:
        read(one={}, two={"command": "x"}, three={"type": "?"})
    assert [problem.partition(":")[0] for problem in refused.value.problems] == ["mcpServers.one", "mcpServers.three"]


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"mcpServers": []}', b"\xff", b'{"mcpServers": {"\xff": {}}}']
)
def test_a_file_without_servers_is_refused(content: bytes) -> None:
    """With the shape that is expected."""
    with pytest.raises(ConfigError, match=r"expected .*mcpServers"):
        read_servers(content, {})


def test_an_entry_that_is_no_text_is_wrong_like_others() -> None:
    """What is in an entry is read after the file."""
    with pytest.raises(ConfigError, match=r"^mcpServers\.one: .*0xff"):
        read_servers(b'{"mcpServers": {"one": {"command": "\xff"}}}', {})


def test_a_secret_is_not_in_what_is_said() -> None:
    """A value that was filled in and is wrong is not shown."""
    with pytest.raises(ConfigError) as refused:
        read(one={"url": "${TOKEN}"})
    assert "s3cret" not in str(refused.value)


def test_a_server_is_told_of_without_its_secrets() -> None:
    """By its name, and how it is reached."""
    one, two = read(one={"command": "uvx", "args": ["--key=k"]}, two={"url": "https://u:p@example.com:8443/mcp?key=k"})
    assert (str(one), str(two)) == ("one (command 'uvx')", "two (https://example.com:8443/mcp)")
