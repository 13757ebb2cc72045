"""Relations between the settings of front, caller and upstreams, each refused by name."""

from typing import Any

import pytest

from tokenmill.config import Config, Front, Gateway, Upstream
from tokenmill.config.front_relations import front_contradictions

EVERYWHERE = "0.0.0.0"  # noqa: S104 -- nothing listens here
URL = "http://10.0.0.7:8000"

PROFILE = {"json_profile": "nobody's"}
"""An option that one format refuses, and others do not read."""

BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("upstreams[0].models", {"models": []}),
    ("upstreams[0].models", {"models": ["a", ""]}),
    ("upstreams[0].models", {"models": ["m" * 257]}),
    ("upstreams[0].urls", {"urls": []}),
    ("upstreams[0].urls[0]", {"urls": ["10.0.0.7:8000"]}),
    ("upstreams[0].urls[0]", {"urls": ["http://user:secret@10.0.0.7"]}),
    ("upstreams[0].urls[1]", {"urls": [URL, "ftp://a"]}),
    ("upstreams[0].urls[0]", {"urls": ["http://a:port"]}),
    ("upstreams[0].urls[1]", {"urls": [URL, f"{URL}/v1"]}),
    ("upstreams[0].urls[0]", {"urls": ["https://models.example.com/base/v1/"]}),
    ("upstreams[0].urls", {"urls": [URL, URL]}),
    ("upstreams[0].template_file", {"kind": "completions"}),
    ("upstreams[0].template_file", {"kind": "openai", "template_file": "t.jinja"}),
    ("upstreams[0].template_tokens", {"kind": "vllm", "template_tokens": {"eos_token": "</s>"}}),
    ("upstreams[0].continues", {"kind": "openai", "continues": True}),
    ("upstreams[0].format", {"format": "herms"}),
    ("upstreams[0].format", {"open": {"nonsense": 1}}),
    ("upstreams[0].open.format", {"open": {"format": "hermes"}}),
    ("upstreams[0].open.format", {"format": "plain", "open": {"format": "herms"}}),
    ("upstreams[0].format", {"models": ["m", "autobyteus_json"], "kind": "vllm", "open": PROFILE}),
]

SOUND: list[dict[str, Any]] = [
    {},
    {"kind": "vllm", "continues": True, "format": "hermes", "open": {"start": "reasoning"}},
    {"models": ["autobyteus_json"], "kind": "openai", "open": PROFILE},
    {"kind": "ollama", "template_file": "t.jinja", "template_tokens": {"eos_token": "</s>"}},
    {"kind": "completions", "template_file": "t.jinja", "urls": ["https://models.example.com/base"]},
]


def said(front: Front | None = None, gateway: Gateway | None = None, *upstreams: dict[str, Any]) -> list[str]:
    """The sentences about these settings."""
    listed = [Upstream(**{"models": ["m"], "urls": [URL], **each}) for each in upstreams]
    config = Config(front=front or Front(), gateway=gateway or Gateway(), upstreams=listed)
    return [sentence for _, sentence in front_contradictions(config)]


@pytest.mark.parametrize(("key", "settings"), BROKEN)
def test_a_broken_relation_of_an_upstream_names_its_key(key: str, settings: dict[str, Any]) -> None:
    """One sentence, which begins with the key and quotes no URL."""
    (sentence,) = said(None, None, settings)
    assert sentence.startswith(key)
    assert "secret" not in sentence


@pytest.mark.parametrize("settings", SOUND)
def test_sound_upstreams_are_taken(settings: dict[str, Any]) -> None:
    """They cause no problem."""
    assert said(None, None, settings) == []


def test_a_model_is_served_by_one_upstream() -> None:
    """Which of two a request went to would be chance."""
    (sentence,) = said(None, None, {}, {})
    assert sentence.startswith("upstreams[1].models: 'm' is in upstreams[0].models, too")


def test_who_can_be_reached_from_elsewhere_needs_rights() -> None:
    """As the gateway: models cost money."""
    (sentence,) = said(Front(bind=EVERYWHERE))
    assert sentence.startswith("front.bind: 0.0.0.0 can be reached from elsewhere")
    assert said(Front(bind=EVERYWHERE), Gateway(auth="keys", keys_file="keys.toml")) == []


def test_two_ports_are_two() -> None:
    """Operators and clients come to different ones."""
    assert said(Front(port=9000, ops_port=9000)) == ["front.ops_port: must differ from front.port"]
