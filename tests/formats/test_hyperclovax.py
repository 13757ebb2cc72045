"""What hyperclovax has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import grammar, parse, reasoning_of, text_of


@pytest.mark.parametrize("end", ["<|im_end|>", "<|im_end|><|stop|>", "<|im_end|><|endofturn|>", "<|im_end|>\n"])
def test_what_ends_a_turn_is_swallowed(end: str) -> None:
    """Whatever stands behind it to stop the model."""
    assert text_of(parse(grammar("hyperclovax"), [f"\nDone.{end}"])) == "Done."


def test_the_prompt_may_hold_all_of_the_first_role() -> None:
    """The option `start` says so: what comes is reasoning, or the answer, at once."""
    text = "Hm.<|im_end|>\n<|im_start|>assistant\nYes."
    events = parse(grammar("hyperclovax", start="reasoning"), [text])
    assert (reasoning_of(events), text_of(events)) == ("Hm.", "Yes.")
    assert text_of(parse(grammar("hyperclovax", start="text"), ["\nYes."])) == "\nYes."
