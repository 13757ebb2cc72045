"""Between the calls of a section, and behind it: what a failed call leaves belongs to it, up to what closes it."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import UNSET

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, source_of, text_of, traced
from tests.support.promises import check_events
from tokenmill.bench.texts import grammars_of
from tokenmill.demo.samples import MALFORMED
from tokenmill.events import TextDelta, TextStart, ToolCall
from tokenmill.formats import FORMATS, find_format
from tokenmill.formats.history import format_call
from tokenmill.limits import Limits
from tokenmill.parser import Call, Format, Grammar, Header, MessageParser, Options, Section
from tokenmill.parser.bodies import JsonArguments, Params
from tokenmill.parser.markers import LEADING_SPACE, literal, marker
from tokenmill.parser.modes.section import BODY_CHARS
from tokenmill.parser.run.run import Span

BROKEN = [
    ("hermes", '<tool_call>\n{"name": now, "arguments": {"a": 1}}\n</tool_call>'),
    ("hermes", '<tool_call>{"name": "now"], "arguments": {"a": 1}}</tool_call>'),
    ("hermes", '<tool_call>{"name": "now" "arguments": {"a": 1}} too much</tool_call>'),
    ("internlm", '<|action_start|><|plugin|>{"name": now, "parameters": {}}<|action_end|>'),
    ("jamba", '<tool_calls>[{"name": now, "arguments": {}}]</tool_calls>'),
    ("ernie45", '<tool_call>\n{"name": 1, "arguments": {"a": [1]}}\n</tool_call>'),
    ("hunyuan_a13b", '<tool_calls>[{"name": now, "arguments": {}}]</tool_calls>'),
    ("nemotron_toolcall_array", '<TOOLCALL>[{"name": now, "arguments": {}}]</TOOLCALL>'),
    ("apriel", '[BEGIN FINAL RESPONSE]<tool_calls>[{"name": now, "arguments": {}}]</tool_calls>'),
    ("cohere_action", '<|START_ACTION|>[{"tool_name": now, "parameters": {}}]<|END_ACTION|>'),
    ("tool_call_json", '<tool_call>{"name": now, "parameters": {}}</tool_call>'),
    ("longcat", '<longcat_tool_call>{"name": now, "arguments": {}}</longcat_tool_call>'),
    ("functionary_v31", '<function=now>{"a": 1,]} and more</function>'),
    ("functionary_v31", '<function=now>{"a": }} and more</function>'),
    ("harmony", '<|channel|>commentary to=functions.now<|message|>{"a": 1]} and more<|call|>'),
]
"""Calls whose end is marked, and which can't be read."""

AROUND = ("Before.\n", "\nAfter.")


@pytest.mark.parametrize(("reason", "cut"), [("stop", UNSET), ("length", True)])
def test_an_opening_behind_which_nothing_comes_is_the_source_of_a_call(reason: str, cut: Any) -> None:
    """One character more, and it would be one: so nobody is shown it either where the answer was cut off."""
    for behind in ("", "\n", '{"na'):
        parser = MessageParser.of(grammar("hermes"), "identity")
        events = parser.feed(f"Before.\n<tool_call>{behind}") + parser.finish(reason)
        assert [(start.call, start.cut) for start in named(events, TextStart)] == [(UNSET, UNSET), ("", cut)]
        assert named(events, TextDelta)[-1].delta == f"<tool_call>{behind}"
        check_events(events, delta_chars=Limits().delta_chars)


@pytest.mark.parametrize("text_mode", ["immediate", "smart"])
@pytest.mark.parametrize("on_broken", ["text", "drop"])
def test_a_pair_around_nothing_is_text_in_a_sentence(text_mode: str, on_broken: str) -> None:
    """Also where the sentence still waits for its end, and whatever becomes of broken calls: it is none."""
    compiled, text = grammar("hermes", text_mode=text_mode, on_broken=on_broken), "Use <tool_call></tool_call> here."
    whole = merged(parse(compiled, [text]))
    assert (text_of(whole), codes_of(whole)) == (text, [])
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == whole


@pytest.mark.parametrize(("name", "source"), BROKEN)
def test_nothing_of_a_broken_call_comes_out_where_it_is_dropped(name: str, source: str) -> None:
    """Not its second half either, however it is cut; what stands around it does, and the error."""
    compiled = grammar(name, on_broken="drop", start="text")
    before, after = AROUND if name != "harmony" else ("", "")
    for chunks in all_cuts(before + source + after):
        events = parse(compiled, chunks)
        assert (text_of(events), codes_of(events)) == (before + after, ["malformed-call"])
        check_events(events, delta_chars=compiled.limits.delta_chars)


@pytest.mark.parametrize(("name", "source"), BROKEN)
def test_the_source_of_a_broken_call_is_text(name: str, source: str) -> None:
    """All of it, in a block of its own, and so once; however it is cut."""
    before, after = AROUND if name != "harmony" else ("", "")
    whole = merged(parse(grammar(name, start="text"), [before + source + after]))
    for chunks in all_cuts(before + source + after):
        assert merged(parse(grammar(name, start="text"), chunks)) == whole
    assert text_of(whole).startswith(before)
    assert text_of(whole).endswith(after)


@pytest.mark.parametrize("on_broken", ["text", "drop"])
def test_the_demo_s_malformed_answer(on_broken: str) -> None:
    """The whole call is one block, which names no call as it named none, or nothing of it comes out."""
    source = MALFORMED[MALFORMED.index("<tool_call>") : MALFORMED.rindex("</tool_call>") + len("</tool_call>")]
    rest = MALFORMED.replace(source, "")
    for chunks in all_cuts(MALFORMED):
        events = merged(parse(grammar("hermes", on_broken=on_broken), chunks))
        blocks = [event.id for event in named(events, TextStart) if event.call == ""]
        texts = [event.delta for event in named(events, TextDelta) if event.id in blocks]
        assert texts == ([source] if on_broken == "text" else [])
        assert text_of(events) == (MALFORMED if on_broken == "text" else rest)


def test_a_call_behind_a_broken_one_is_read() -> None:
    """Where the model forgot to close the broken one, and where the next one stands in the same list."""
    good = '{"name": "f", "arguments": {}}'
    for text in (
        f'<tool_call>{{"name": now}} <tool_call>{good}</tool_call>',
        f'<tool_call>[{{"a": 1}}, {good}]</tool_call>',
    ):
        for policy in ("text", "drop"):
            events = parse(grammar("hermes", on_broken=policy), [text])
            assert [call.name for call in named(events, ToolCall)] == ["f"]


def test_a_broken_call_can_be_gone_on_with_elsewhere() -> None:
    """What is known of its rest is part of the state."""
    compiled = grammar("hermes", on_broken="drop")
    parser, events = MessageParser.of(compiled, "identity"), []
    for character in MALFORMED:
        events += parser.feed(character)
        parser = MessageParser.of_state(compiled, parser.encode_state())
    assert merged(events + parser.finish()) == merged(parse(compiled, [MALFORMED]))


_BRACKETS = "nothing but brackets closes a call, and these stand inside of one, too"
_BODY = "what closes a call is read with its parameters, and belongs to no section"

OPEN_ENDED = {
    "autobyteus_json": _BRACKETS,
    "bare_json": _BRACKETS,
    "command_r_action": _BRACKETS,
    "firefunction": _BRACKETS,
    "granite": _BRACKETS,
    "granite20b_fc": _BRACKETS,
    "json_array": _BRACKETS,
    "llama3_json": _BRACKETS,
    "mistral_args": _BRACKETS,
    "mistral_callid": _BRACKETS,
    "mistral_json": _BRACKETS,
    "phi4mini": _BRACKETS,
    "pythonic": _BRACKETS,
    "sarashina": _BRACKETS,
    "xlam": _BRACKETS,
    "minicpm5_xml": _BODY,
}
"""Formats of which only what was read as the call is dropped, and why: nothing says where the rest of it ends."""

CLOSINGS = {"gigachat3": "<|message_sep|>"}
"""What closes a call where the format's sample ends without it."""

QUOTES = {"gemma4": '<|"|>', **dict.fromkeys(("lfm2", "llama4_pythonic", "olmo3", "pythonic"), '"')}
"""What these formats quote with: one that is torn apart, or missing, leaves a text open, up to the next."""

WHOLE = {"structured_output", "tool_choice"}
"""The whole answer is the call: nothing stands behind it."""

TOLERANT = {"mimo", "muse", "seed_oss"}
"""Any of `JUNK` is part of an argument's text."""

CALLING = [format_.name for format_ in FORMATS if format_.name not in WHOLE and grammars_of(format_)]

JUNK = (']]}} now "x"', '} ]} , "":', '")>]} ', "<oops", "')]")
"""What breaks a call in its middle."""


def _parts(name: str) -> tuple[str, str, str, int]:
    """A format's sample: what stands in front of its calls, the first of them, the rest, and how many there are."""
    sample = find_format(name).sample
    calls = [span.source for span in parse(traced(name), [sample]) if isinstance(span, Span) and span.kind == "call"]
    at = sample.index(calls[0])
    return sample[:at], calls[0], sample[at + len(calls[0]) :] + CLOSINGS.get(name, ""), len(calls)


def _broken(name: str) -> Iterator[tuple[str, str]]:
    """Answers with a call that can't be read, then prose and the sample's own calls; and that call up to its end."""
    before, call, rest, _ = _parts(name)
    for word in ("Paris", "days"):
        begin = call.find(word)
        for at in (begin, begin + len(word) + 1) if begin >= 0 else ():
            for junk in JUNK:
                broken = call[:at] + junk + call[at:]
                unquoted = name in QUOTES and broken.count(QUOTES[name]) % 2
                answer = f"{before}{broken}{rest} and then prose.\n{call}{rest}"
                if not unquoted and "malformed-call" in codes_of(parse(grammar(name), [answer])):
                    yield answer, broken


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLING)
def test_what_follows_a_broken_call_is_read_whatever_becomes_of_it(name: str) -> None:
    """The prose comes out, and the good calls are called; where its source is text, no character is lost or twice."""
    count, answers = _parts(name)[3], list(_broken(name))
    assert bool(answers) is (name not in TOLERANT)
    for answer, _ in answers:
        assert source_of(parse(traced(name), [answer])) == answer
        for policy in ("text", "drop"):
            events = parse(grammar(name, on_broken=policy), [answer])
            assert "prose." in text_of(events)
            assert len(named(events, ToolCall)) >= count


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CALLING if name not in OPEN_ENDED])
def test_what_closes_a_call_ends_the_source_of_a_broken_one(name: str) -> None:
    """Nothing of it is text where it is dropped, but the prose behind it; else all of it is one block, at every cut."""
    before = text_of(parse(grammar(name), [_parts(name)[0]]))
    for number, (answer, broken) in enumerate(_broken(name)):
        dropped, kept = (merged(parse(grammar(name, on_broken=policy), [answer])) for policy in ("drop", "text"))
        assert text_of(dropped).removeprefix(before).strip() == "and then prose."
        [source] = _sources(kept)
        assert source.startswith(broken)
        assert source in answer
        for policy, whole in (("drop", dropped), ("text", kept)):
            compiled = grammar(name, on_broken=policy)
            for chunks in all_cuts(answer) if number == 0 else [list(answer)]:
                assert merged(parse(compiled, chunks)) == whole


def _sources(events: list[Any]) -> list[str]:
    """The blocks that are the source of a call."""
    ids = [event.id for event in named(events, TextStart) if event.call is not UNSET]
    return ["".join(event.delta for event in named(events, TextDelta) if event.id == block) for block in ids]


BARE = {
    "deepseek_v3": "<｜tool▁calls▁end｜>",
    "deepseek_v31": "<｜tool▁calls▁end｜>",
    "hunyuan_kv": "</tool_calls>",
    "mimo": "</tool_call>",
    "minimax_m2": "</minimax:tool_call>",
    "qwen3_xml": "</tool_call>",
    "seed_oss": "</seed:tool_call>",
}
"""Formats whose sections go on behind words, and whose calls may stand without one; with what closes a section."""

IN_SECTIONS = {
    "deepseek_v3": "<｜tool▁calls▁end｜>",
    "gemma4": "<tool_call|>",
    "plamo3": "<|plamo:end_tool_requests:plamo|>",
    "step3": "<｜tool_calls_end｜>",
}
"""Those whose calls end by themselves in one."""


@pytest.mark.parametrize("name", BARE | IN_SECTIONS)
def test_prose_is_no_part_of_a_broken_call(name: str) -> None:
    """Behind a good call, in its section or without one, and where no call follows the opening: it is never dropped."""
    format_, close = find_format(name), (BARE | IN_SECTIONS)[name]
    opening = next(section.open for section in format_.sections if section.open).spellings[0]
    call = format_call(format_, "f", {"days": 3}).strip().removesuffix(close)
    answers: list[tuple[str, list[str]]] = [(f"a{opening} prose", [])]
    answers += [(f"a{call.removeprefix(opening).strip()} prose", ["f"])] if name in BARE else []
    answers += [(f"a{call} prose", ["f"])] if name in IN_SECTIONS else []
    compiled = grammar(name, on_broken="drop", start="text", tools=[{"type": "function", "function": {"name": "f"}}])
    for answer, called in answers:
        for end, more in (("", []), (f"{close}.", []), (f"{opening}{call.removeprefix(opening)}{close}.", ["f"])):
            for chunks in ([answer + end], list(answer + end)):
                events = parse(compiled, chunks)
                assert (text_of(events), [found.name for found in named(events, ToolCall)]) == (
                    "a prose" + "." * bool(end),
                    called + more,
                )


@pytest.mark.parametrize("name", BARE)
def test_behind_an_opening_in_prose_only_a_declared_tool_is_called(name: str) -> None:
    """As outside of a section: words that name the tags of a call begin none, and the real one behind them is read."""
    format_ = find_format(name)
    opening = next(section.open for section in format_.sections if section.open).spellings[0]
    call = format_call(format_, "f", {"days": 3}).strip()
    prose = f"The tags are `{opening}` and `{format_.sections[0].calls[0].open.spellings[0]}"
    compiled = grammar(name, start="text", tools=[{"type": "function", "function": {"name": "f"}}])
    for end in ('example">` and more.', "example>` and more.", "` and more."):
        for chunks in ([f"{prose}{end}\n{call}"], list(f"{prose}{end}\n{call}")):
            events = parse(compiled, chunks)
            assert (text_of(events), codes_of(events)) == (f"{prose}{end}\n", ["malformed-call"])
            assert [found.name for found in named(events, ToolCall)] == ["f"]


@pytest.mark.parametrize("name", ["kimi_k2", "deepseek_v31"])
@pytest.mark.parametrize("policy", ["text", "drop"])
def test_an_object_behind_the_arguments_of_a_call_is_no_text(name: str, policy: str) -> None:
    """The call has been told and stands; what goes on up to its end marker is broken, and the call behind it is one."""
    format_ = find_format(name)
    source = format_call(format_, "f", {"days": 3}).strip()
    (call, end), close = source.split("}")[:2], format_.sections[0].close
    assert close is not None
    rest = end.removesuffix(close.spellings[0])
    again = source.removeprefix(format_.sections[0].open.spellings[0]) if format_.sections[0].open else ""
    text = f'{call}}} {{"days": 4}}{rest}{again} and prose.'
    compiled = grammar(name, start="text", on_broken=policy)
    for chunks in all_cuts(text):
        events = parse(compiled, chunks)
        assert [found.arguments for found in named(events, ToolCall)] == [{"days": 3}] * 2
        assert codes_of(events) == ["malformed-call"]
        assert text_of(events) == (f' {{"days": 4}}{rest}' if policy == "text" else "") + " and prose."


BRACES = Format(
    name="braces",
    summary="",
    sample="",
    sections=(
        Section(
            open=marker("{{calls}}"),
            close=marker("{{/calls}}"),
            calls=(
                Call(
                    marker("{{call ", ahead=[(r"\w{1,16}", *literal("}}"), LEADING_SPACE, r"\{", r"[^{]")]),
                    JsonArguments(),
                    Header(until=marker("}}")),
                ),
                Call(
                    marker("{{call "),
                    Params(
                        open=marker("{{arg "), tag_end=marker("}}"), close=marker("{{/arg}}"), end=marker("{{/call}}")
                    ),
                    Header(until=marker("}}")),
                ),
            ),
            framing=(marker("{{/call}}"),),
        ),
    ),
)


def test_of_calls_with_one_opening_the_first_that_fits_wins() -> None:
    """So a section mixes two bodies, however it is cut."""
    compiled = Grammar(Options(format="braces"), [BRACES], Limits())
    text = '{{calls}}{{call f}} {"a": "{{/call}}"}{{/call}}\n{{call g}}{{arg b}}{1}{{/arg}}{{/call}}{{/calls}} done'
    for chunks in all_cuts(text):
        calls = named(events := parse(compiled, chunks), ToolCall)
        assert [(call.name, call.arguments) for call in calls] == [("f", {"a": "{{/call}}"}), ("g", {"b": "{1}"})]
        assert text_of(events) == " done"


OPEN, CLOSE = "<|tool_call_start|>", "<|tool_call_end|>"


@pytest.mark.parametrize("size", [10, BODY_CHARS // 2, BODY_CHARS])
def test_a_body_that_is_too_long_is_not_looked_for(size: int) -> None:
    """It would have to be kept: behind a longer one the same again is text."""
    body = f'[f(a="{"x" * size}")]'
    events = parse(grammar("lfm2"), [f"{OPEN}{body}{CLOSE}{body}{CLOSE}"])
    assert len(named(events, ToolCall)) == 1
    assert text_of(events) == ("" if len(body) <= BODY_CHARS else body + CLOSE)


def test_the_body_of_an_earlier_section_is_not_looked_for() -> None:
    """What may come again is that of the section that ended last."""
    first, second = "[f()]", "[g()]"
    events = parse(grammar("lfm2"), [f"{OPEN}{first}{CLOSE}{OPEN}{second}{CLOSE}{first}{CLOSE}"])
    assert [call.name for call in named(events, ToolCall)] == ["f", "g"]
    assert text_of(events) == first + CLOSE


def test_a_provider_call_leaves_what_came_again_in_its_place() -> None:
    """Half a body that came again is text when the stream ends, whatever came beside it."""
    events = parse(grammar("lfm2"), [f"{OPEN}[f()]{CLOSE}[f", ""])
    assert text_of(events) == "[f"
