"""Relations between the gateway's settings, each refused by name."""

from typing import Any

import pytest

from tokenmill.config import Config, Gateway
from tokenmill.config.gateway_relations import gateway_contradictions, is_loopback

KEY = "k" * 32
EVERYWHERE = "0.0.0.0"  # noqa: S104 -- nothing listens here

BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("gateway.bind", {"bind": EVERYWHERE}),
    ("gateway.bind", {"bind": "::"}),
    ("gateway.ops_port", {"port": 9000, "ops_port": 9000}),
    ("gateway.tls_certfile", {"tls_certfile": "cert.pem"}),
    ("gateway.keys_file", {"auth": "keys"}),
    ("gateway.function", {"auth": "function"}),
    ("gateway.jwt_audience", {"auth": "jwt", "jwt_secret": KEY}),
    ("gateway.jwt_keys", {"auth": "jwt", "jwt_audience": "a"}),
    ("gateway.jwt_keys", {"auth": "jwt", "jwt_audience": "a", "jwt_secret": KEY, "jwt_keys": "keys.json"}),
    ("gateway.jwt_keys", {"auth": "jwt", "jwt_audience": "a", "jwt_keys": "https://u:s3cret@login.example.com/keys"}),
    ("gateway.jwt_keys", {"auth": "jwt", "jwt_audience": "a", "jwt_keys": "https://s3cret@login.example.com/keys"}),
    ("gateway.jwt_secret", {"auth": "jwt", "jwt_audience": "a", "jwt_secret": "short"}),
    ("gateway.keys_file", {"keys_file": "keys.toml"}),
    ("gateway.keys_file", {"auth": "function", "function": "m:f", "keys_file": "keys.toml"}),
    ("gateway.function", {"auth": "keys", "keys_file": "keys.toml", "function": "m:f"}),
    ("gateway.jwt_secret", {"jwt_secret": KEY}),
    ("gateway.jwt_actions", {"auth": "keys", "keys_file": "keys.toml", "jwt_actions": "may"}),
    ("gateway.ticket_secret", {"ticket_secret": "short"}),
    ("gateway.origins", {"origins": ["https://app.example.com/"]}),
    ("gateway.dialects", {"dialects": ["opnai"]}),
]

SOUND: list[dict[str, Any]] = [
    {},
    {"bind": "::1"},
    {"bind": EVERYWHERE, "auth": "keys", "keys_file": "keys.toml"},
    {"port": 0, "ops_port": 0},
    {"auth": "jwt", "jwt_audience": "a", "jwt_secret": KEY},
    {"auth": "jwt", "jwt_audience": "a", "jwt_keys": "https://login.example.com/keys?p=a@b"},
    {"auth": "jwt", "jwt_audience": "a", "jwt_keys": "/etc/keys@2026.json"},
    {"origins": ["*", "https://app.example.com", "http://localhost:3000"], "dialects": ["openai"]},
]


def said(settings: dict[str, Any]) -> list[str]:
    """The sentences about a section."""
    return [sentence for _, sentence in gateway_contradictions(Config(gateway=Gateway(**settings)))]


@pytest.mark.parametrize(("key", "settings"), BROKEN)
def test_a_broken_relation_names_its_key(key: str, settings: dict[str, Any]) -> None:
    """One sentence, which begins with the key."""
    (sentence,) = said(settings)
    assert sentence.startswith(f"{key}: ")
    assert "s3cret" not in sentence


@pytest.mark.parametrize("settings", SOUND)
def test_sound_settings_are_taken(settings: dict[str, Any]) -> None:
    """They cause no problem."""
    assert said(settings) == []


def test_a_lock_that_nobody_closed_is_refused() -> None:
    """Whoever forgets `auth` would let everybody in."""
    assert said({"keys_file": "keys.toml"}) == [
        "gateway.keys_file: has no effect where gateway.auth is none; it is for keys"
    ]


def test_a_loopback_is_told_from_other_addresses() -> None:
    """Names but `localhost` may lead anywhere."""
    assert [is_loopback(bind) for bind in ("127.0.0.9", "localhost", "gateway.internal", EVERYWHERE)] == [
        True,
        True,
        False,
        False,
    ]
