"""Options of a message: defaults, what is given, what is refused."""

from typing import get_type_hints

import pytest

from tokenmill.errors import BadOpen
from tokenmill.parser.options import PROBLEMS, MessageOptions, Options, read_options


def test_given_options_over_defaults() -> None:
    """What is absent comes from the defaults."""
    defaults = Options(format="hermes", model="m")
    assert read_options({"start": "reasoning"}, defaults) == Options(format="hermes", model="m", start="reasoning")


def test_every_problem_is_named() -> None:
    """Unknown keys and wrong types are refused together, each by name."""
    with pytest.raises(BadOpen) as refused:
        read_options({"fromat": "hermes", "start": "middle", "tools": 7, "model": "m"})
    message = str(refused.value)
    assert "unknown option 'fromat'" in message
    assert "option 'start': Invalid enum value 'middle'; known are text, reasoning, header" in message
    assert "option 'tools'" in message
    assert "'model'" not in message.replace("known are", "").split("unknown")[0]


def test_so_many_problems_are_named() -> None:
    """A hundred thousand would make an error of fifty megabytes, in seconds."""
    with pytest.raises(BadOpen) as problem:
        read_options({f"format{number}": 1 for number in range(100_000)})
    assert str(problem.value).count("unknown option") == PROBLEMS
    assert str(problem.value).endswith("; and what follows was not read")


def test_several_formats() -> None:
    """A format may be a list of names."""
    assert read_options({"format": ["hermes", "qwen3_xml"]}).format == ["hermes", "qwen3_xml"]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"min_delta_chars": -5}, "option 'min_delta_chars': must not be negative"),
        ({"format": ["hermes"] * 9}, "at most 8 formats live at once, these are 9"),
        ({"model": "m" * 257}, "option 'model': longer than 256 characters"),
        ({"id_prefix": "x" * 65}, "option 'id_prefix': longer than 64 characters"),
        ({"markers_suffix": "x" * 17}, "option 'markers_suffix': longer than 16 characters"),
        ({"start_tag": "x" * 65}, "option 'start_tag': longer than 64 characters"),
        ({"end_tag": "x" * 65}, "option 'end_tag': longer than 64 characters"),
        ({"placeholder_text": "x" * 257}, "option 'placeholder_text': longer than 256 characters"),
    ],
)
def test_values_out_of_bounds(values: dict[str, object], problem: str) -> None:
    """A value of the right type may still be none that makes sense."""
    with pytest.raises(BadOpen, match=problem):
        read_options(values)


def test_tools_may_be_large() -> None:
    """A tool list is as large as its record lets it be."""
    tools = [{"function": {"name": "f", "description": "d" * 100_000}}]
    assert read_options({"tools": tools}).tools == tools


def test_programs_have_every_option_with_its_type() -> None:
    """`format` and `tools` are parameters of their own."""
    own = get_type_hints(Options)
    assert get_type_hints(MessageOptions) == {name: own[name] for name in own if name not in ("format", "tools")}
