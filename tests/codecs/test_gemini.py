"""Codec `gemini`: reading the responses of a stream."""

import json
from typing import Any

import pytest

from tests.support.provided import Provided, provided
from tokenmill.events import Error

COUNTS = {"promptTokenCount": 5, "candidatesTokenCount": 4, "totalTokenCount": 9}


def response(
    *parts: Any, finish: str = "", index: int = 0, usage: Any = None, identity: str = "r1", **more: Any
) -> dict[str, Any]:
    """A response with one candidate."""
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": index}
    counts = {"usageMetadata": usage} if usage else {}
    return {
        "candidates": [candidate | ({"finishReason": finish} if finish else {}) | more],
        **counts,
        "responseId": identity,
        "modelVersion": "g",
    }


LAST = response(finish="STOP", usage=COUNTS)


def stream(*responses: Any) -> Provided:
    return provided("gemini", *responses)


def test_a_message_with_everything() -> None:
    """Thoughts, text, a call with its signature, counts that are cumulative."""
    done = stream(
        response({"text": "plan", "thought": True}, usage={"promptTokenCount": 5}),
        response({"text": "Hi"}),
        response(
            {"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": "QQ=="}, finish="STOP", usage=COUNTS
        ),
    )
    assert done.messages == [("r1", "g")]
    assert (done.reasoning, done.text, done.calls) == ("plan", "Hi", [("f", {"x": 1})])
    assert done.parts == [("signature", "QQ==")]
    assert done.ends == [("tool-calls", COUNTS)]


def test_several_calls_in_one_response() -> None:
    """Each is its own, with its id if it has one."""
    done = stream(
        response({"functionCall": {"name": "f", "args": {}}}, {"functionCall": {"id": "c2", "name": "g"}}),
        response({"functionCall": {"name": "f", "args": {"x": 2}}}),
        LAST,
    )
    assert done.calls == [("f", {}), ("g", {}), ("f", {"x": 2})]
    assert done.call_ids[1] == "c2"


def piece(*values: Any, more: bool = True, **fields: Any) -> dict[str, Any]:
    """A piece of a call."""
    arguments = [{"jsonPath": path, **value} for path, value in values]
    return response({"functionCall": {**fields, "partialArgs": arguments, **({"willContinue": True} if more else {})}})


@pytest.mark.parametrize(
    ("values", "arguments"),
    [
        (
            [("$.city", {"stringValue": "Pa", "willContinue": True}), ("$.city", {"stringValue": "ris"})],
            {"city": "Paris"},
        ),
        ([("$.a.b", {"numberValue": 1.5}), ("$.a.c", {"boolValue": False})], {"a": {"b": 1.5, "c": False}}),
        ([("$.l[0]", {"stringValue": "x"}), ("$.l[1].k", {"nullValue": None})], {"l": ["x", {"k": None}]}),
        ([("$['a b'].c", {"stringValue": "x"}), ('$["d"]', {"stringValue": "y"})], {"a b": {"c": "x"}, "d": "y"}),
        ([], {}),
    ],
)
def test_calls_in_pieces(values: list[Any], arguments: Any) -> None:
    """They are complete when no more is to come; strings go on where they stopped."""
    pieces = [piece(value) for value in values]
    done = stream(piece(name="f", id="c"), *pieces, piece(more=False), LAST)
    assert (done.calls, done.call_ids) == ([("f", arguments)], ["c"])


def test_a_call_in_pieces_is_over_when_the_answer_is() -> None:
    """Or when another begins."""
    done = stream(piece(("$.x", {"numberValue": 1}), name="f"), piece(("$.y", {"numberValue": 2}), name="g"), LAST)
    assert done.calls == [("f", {"x": 1}), ("g", {"y": 2})]


@pytest.mark.parametrize("path", ["", "$", "$[0]", "$.a[", "$.a[99999]", "$..a", 7, "$" + ".a" * 200])
def test_a_path_that_leads_nowhere_is_a_dead_letter(path: Any) -> None:
    """And the stream continues."""
    done = stream(piece(name="f"), piece((path, {"stringValue": "x"})), piece(("$.a", {"numberValue": 1}), more=False))
    assert (done.rejected, done.calls) == (["undecodable"], [("f", {"a": 1})])


def test_other_parts_are_parts() -> None:
    """Under their names, like the fields next to the content."""
    code = {"language": "PYTHON", "code": "1"}
    done = stream(response({"executableCode": code}, groundingMetadata={"webSearchQueries": ["q"]}), LAST)
    assert done.parts == [("executableCode", code), ("groundingMetadata", {"webSearchQueries": ["q"]})]


def test_kinds_of_a_part_come_in_its_order() -> None:
    """The same in each process: what is replayed must come out as it did."""
    kinds = [f"kind{number}" for number in range(20)]
    done = stream(response(dict.fromkeys(kinds, "x")), LAST)
    assert [kind for kind, _ in done.parts] == kinds


def test_candidates_are_choices() -> None:
    """The message ends when all have."""
    both = {"candidates": [{"index": n, "content": {"parts": [{"text": f"{n}"}]}} for n in (0, 1)], "responseId": "r1"}
    first, second = response(finish="STOP", usage=COUNTS), response(finish="MAX_TOKENS", index=1, usage=COUNTS)
    done = stream(both, first, second)
    assert [event.choice for event in done.events if event.type == "finish"] == [0, 1]
    assert [reason for reason, _ in done.ends] == ["stop", "length"]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content-filter"),
        ("SPII", "content-filter"),
        ("PROHIBITED_CONTENT", "content-filter"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("OTHER", "stop"),
    ],
)
def test_reasons(word: str, reason: str) -> None:
    """Gemini's words, read as the native ones."""
    assert stream(response({"text": "a"}), response(finish=word, usage=COUNTS)).ends == [(reason, COUNTS)]


@pytest.mark.parametrize(
    "last",
    [
        [response(finish="STOP"), {"usageMetadata": COUNTS, "responseId": "r1"}],
        [response(finish="STOP"), None],
        [response(finish="STOP"), b"data: [DONE]"],
        [response(finish="STOP"), response({"text": "b"}, identity="r2")],
        [None],
    ],
    ids=["counts that follow", "nothing follows", "done", "another message", "cut off"],
)
def test_what_ends_a_message_without_counts(last: list[Any]) -> None:
    """The first of what can."""
    assert [reason for reason, _ in stream(response({"text": "a"}), *last).ends] == ["stop"]


def test_a_blocked_prompt_is_an_answer() -> None:
    """Without candidates: what was blocked, and that it was."""
    feedback = {"blockReason": "SAFETY"}
    done = stream({"promptFeedback": feedback, "usageMetadata": COUNTS, "responseId": "r1"})
    assert done.parts == [("promptFeedback", feedback)]
    assert done.ends == [("content-filter", COUNTS)]


def test_an_error_ends_the_message() -> None:
    """In the provider's words, with its status."""
    done = stream(response({"text": "a"}), {"error": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}})
    assert done.errors == [("upstream", "UNAVAILABLE: overloaded")]
    assert [event.status for event in done.events if isinstance(event, Error)] == [503]
    assert done.ends == [("error", None)]


def test_a_stream_that_is_one_array() -> None:
    """Its elements, with what stands around them, one or more a record."""
    first, second = (json.dumps(response({"text": letter})).encode() for letter in "ab")
    done = provided("gemini", b"[" + first, b",\r\n" + second + b",", json.dumps(LAST).encode() + b"\n]")
    assert (done.text, done.rejected, len(done.ends)) == ("ab", [], 1)
    assert provided("gemini", b"[" + first + b"," + second + b"]", b"[", b"]", None).text == "ab"


@pytest.mark.parametrize("junk", [b"junk", b"{", b"{}", b'{"x":1}', b"[1]", b"data: {", {"responseId": "x" * 2000}])
def test_junk_is_a_dead_letter_and_changes_nothing(junk: Any) -> None:
    """The message continues after it."""
    done = stream(response({"text": "a"}), junk, response({"text": "b"}), LAST)
    assert (done.rejected, done.text, done.ends) == (["undecodable"], "ab", [("stop", COUNTS)])


@pytest.mark.parametrize(
    "first",
    [response({"functionCall": {"name": "f"}}), response({"thoughtSignature": "QQ=="}), response(finish="STOP")],
    ids=["call", "signature", "finish"],
)
def test_the_model_is_told_whatever_comes_first(first: Any) -> None:
    """An answer that is nothing but a call has one, too."""
    assert stream(first, LAST).messages[0] == ("r1", "g")
