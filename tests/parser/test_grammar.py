"""Compiled options: shared, keyed by content, and what they know of tools."""

import msgspec
import pytest

from tests.support.parsing import grammar, parse, reasoning_of
from tokenmill.errors import BadOpen
from tokenmill.formats import compile_grammar, find_format
from tokenmill.limits import Limits
from tokenmill.parser import Format, Grammar, Options, Region, options_key
from tokenmill.parser.markers import marker

TOOL = {"function": {"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}}


def test_the_same_options_share_a_grammar() -> None:
    """Messages with equal options use one grammar; another cap or option makes another."""
    options = [Options(format="hermes", tools=[TOOL]) for _ in range(2)]
    assert compile_grammar(options[0]) is compile_grammar(options[1])
    assert compile_grammar(options[0], Limits(calls=1)) is not compile_grammar(options[0])
    assert compile_grammar(Options(format="hermes")) is not compile_grammar(options[0])


def test_key_is_a_hash_of_the_content() -> None:
    """Equal options have equal keys, and the grammar knows its own."""
    assert options_key(Options(format="hermes")) == grammar("hermes").key
    assert options_key(Options(format="plain")) != grammar("hermes").key


def test_formats_by_name_and_alias() -> None:
    """Other servers' names for a parser find the format; unknown ones are refused with the known ones."""
    names = ("qwen3_coder", "granite_thinking_parser", "nemotron_3", "holo2", "deepseek-v4", "kimi_k25")
    found = [find_format(name).name for name in names]
    assert found == ["qwen3_xml", "qwen3_xml", "qwen3_xml", "think", "deepseek_dsml", "kimi_k2"]
    with pytest.raises(BadOpen, match=r"unknown format 'nope'; known are plain, .*hermes"):
        compile_grammar(Options(format=["hermes", "nope"]))
    with pytest.raises(BadOpen, match="empty"):
        compile_grammar(Options(format=[]))


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("anthropic", "autobyteus_xml"),
        ("Anthropic", "autobyteus_xml"),
        ("openai", "autobyteus_json"),
        ("", "autobyteus_json"),
    ],
)
def test_a_format_by_provider(provider: str, name: str) -> None:
    """A name may stand for the format of the provider's models."""
    assert compile_grammar(Options(format="Autobyteus", provider=provider)).format_names == [name]
    several = compile_grammar(Options(format=["hermes", "autobyteus"], provider=provider))
    assert several.format_names == ["hermes", name]


def test_names_of_formats_in_any_case() -> None:
    """Clients learn the name as it is."""
    assert compile_grammar(Options(format="HERMES")).format_names == ["hermes"]


def test_a_format_that_depends_on_options() -> None:
    """It is made anew for each set of them, before it is compiled."""

    def configured(format_: Format, options: Options) -> Format:
        tag = marker(f"<{options.model}>")
        return msgspec.structs.replace(format_, regions=(Region(tag, marker("</>")),))

    format_ = Format(name="own", summary="", sample="", configured=configured)
    for model in ("a", "b"):
        grammar_ = Grammar(Options(format="own", model=model), [format_], Limits())
        assert reasoning_of(parse(grammar_, ["<a>x</><b>y</>"])) == {"a": "x", "b": "y"}[model]


def test_what_each_chunk_asks_for_is_at_hand() -> None:
    """Attributes of a grammar are found in its slots: a dictionary costs each chunk a tenth more."""
    assert not hasattr(grammar("hermes"), "__dict__")
