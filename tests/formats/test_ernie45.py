"""What ernie45 has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import all_cuts, grammar, merged, parse, reasoning_of, text_of


def test_the_stream_begins_in_the_reasoning() -> None:
    """The prompt has opened it."""
    assert reasoning_of(parse(grammar("ernie45"), ["a\n</think>\n\nb"])) == "a"


def test_new_lines_at_the_tags_are_framing() -> None:
    """They come with the tags and go with them, at every cut."""
    text = "a</think>\n\n<response>\nb\n</response>\n"
    whole = merged(parse(grammar("ernie45"), [text]))
    assert text_of(whole) == "b"
    for chunks in all_cuts(text):
        assert merged(parse(grammar("ernie45"), chunks)) == whole
