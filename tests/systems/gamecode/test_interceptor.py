"""Dialect `interceptor`: narrative, and calls that are hidden from it."""

import json
from typing import Any

import pytest

from tests.support.scenarios import SCENARIOS, Scenario, rendered

STOP = {"finish_reason": "stop"}
LS = '{"tool": "list_files", "params": {"path": "."}}'


def tokens(scenario: Scenario, **options: Any) -> list[tuple[str, ...]]:
    """The tokens of a scenario, adjacent narrative joined."""
    out: list[tuple[str, ...]] = []
    for payload in rendered(scenario, "interceptor", **options).payloads:
        token = json.loads(payload)
        if token["type"] == "narrative" and out and out[-1][0] == "narrative":
            out[-1] = ("narrative", out[-1][1] + token["text"])
        else:
            assert token.keys() - {"incomplete"} == {"type", "text"}
            out.append((token["type"], token["text"], *(["incomplete"] if token.get("incomplete") else [])))
    return out


def prose(*chunks: str) -> Scenario:
    """Text of a model that calls in running text."""
    return Scenario([*({"delta": chunk} for chunk in chunks), STOP], {"format": "bare_json"})


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        (
            ("Let me check.\n\n", '{"tool": "ls", ', ' "params": {}', "}"),
            [("narrative", "Let me check.\n\n"), ("tool_call", '{"tool": "ls",  "params": {}}')],
        ),
        (
            ("I'll use ", '{"tool":', ' "calc",', ' "params":', ' {"expr":', ' "2+2"}}', " to help."),
            [
                ("narrative", "I'll use "),
                ("tool_call", '{"tool": "calc", "params": {"expr": "2+2"}}'),
                ("narrative", " to help."),
            ],
        ),
        (
            ("The JSON format ", "{ key: value } ", "is common."),
            [("narrative", "The JSON format { key: value } is common.")],
        ),
    ],
    ids=["a call", "a call in a sentence", "no call"],
)
def test_the_examples_of_the_source(chunks: tuple[str, ...], expected: list[tuple[str, ...]]) -> None:
    """What its document promises: narrative before, the call, narrative behind, however the text is cut."""
    text = "".join(chunks)
    for cut in (chunks, (text,), tuple(text)):
        assert tokens(prose(*cut)) == expected


def test_a_call_that_is_cut_off_is_incomplete() -> None:
    """Its text is no narrative; that of one that never was a call is."""
    assert tokens(prose("a ", LS[:40])) == [("narrative", "a "), ("tool_call", LS[:40], "incomplete")]
    assert tokens(prose("a ", '{"params": [')) == [("narrative", 'a {"params": [')]
    assert tokens(prose("a ", LS[:40]), on_unfinished="drop") == [("narrative", "a ")]


def test_a_call_that_is_broken_is_narrative() -> None:
    """It looked like one for a while."""
    broken = LS[:-2] + "]}"
    assert tokens(prose("a ", broken, " b")) == [("narrative", f"a {broken} b")]


def test_the_text_of_calls_in_other_formats() -> None:
    """An object of this kind is made around their arguments."""
    shown = [token for token in tokens(SCENARIOS["a call alone"]) if token[0] == "tool_call"]
    assert shown == [("tool_call", '{"tool": "get_weather", "params": {"city": "Zürich \\"🌧\\"", "days": 3}}')]
    shown = [token for token in tokens(SCENARIOS["a call in another notation"]) if token[0] == "tool_call"]
    assert [json.loads(text) for _, text in shown] == [{"tool": "get_weather", "params": {"city": "Paris", "days": 3}}]
    off = tokens(SCENARIOS["a call alone"], stream_tool_input=False)
    assert json.loads(off[0][1])["params"] == {"city": 'Zürich "🌧"', "days": 3}


def test_calls_side_by_side_keep_their_text() -> None:
    """Each is one token, when it is complete."""
    narrative, *called = tokens(SCENARIOS["calls side by side"])
    assert narrative == ("narrative", "Both: now")
    assert [json.loads(text)["params"] for _, text in called] == [{"city": "Oslo"}, {"city": "Rome"}]


def test_an_unknown_tool_is_a_call() -> None:
    """Its text is its own, although an error came before it."""
    (token,) = tokens(SCENARIOS["an unknown tool"])
    assert token == ("tool_call", '{"tool": "rm", "params": {"path": "/"}}')


def test_modes_of_text() -> None:
    """As it is; with something in place of calls; up to natural boundaries."""
    scenario = prose(f"One. Two {LS} three")
    assert tokens(scenario, text_mode="passthrough") == [("narrative", f"One. Two {LS} three")]
    assert tokens(scenario, text_mode="placeholder") == [("narrative", "One. Two [Working...] three")]
    smart = [json.loads(payload)["text"] for payload in rendered(scenario, "interceptor", text_mode="smart").payloads]
    assert smart == ["One. ", "Two ", LS, " three"]


def test_reasoning_is_left_out() -> None:
    """Its clients know none."""
    assert tokens(SCENARIOS["reasoning, text and a call"])[0] == ("narrative", "It is: ")
