"""The configuration of a process of ours."""

import tomllib

from tokenmill.servers.ours import Settings, toml


def test_settings_become_a_file() -> None:
    """Plain values come back as they were."""
    settings: Settings = {
        "kafka": {"bootstrap_servers": 'k:1,"k":2'},
        "tools": {"calls": 7, "policy": ["a__*"], "spawn": True},
    }
    assert tomllib.loads(toml(settings)) == settings


def test_tables_in_lists_and_keys_with_any_characters() -> None:
    """As upstreams and the schemas in their options have them."""
    settings: Settings = {
        "upstreams": [{"models": ["a"], "open": {"tools": [{"function": {"$ref": "b", "c d": [1]}}]}}, {"calls": 1}],
    }
    assert tomllib.loads(toml(settings)) == settings
