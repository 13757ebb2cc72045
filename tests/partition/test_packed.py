"""Options of choices that have ended."""

from tokenmill.formats import compile_grammar
from tokenmill.parser import Grammar, Options
from tokenmill.partition.packed import Packed, Used
from tokenmill.partition.snapshot import encode_grammar


def grammar() -> Grammar:
    """One with many tools."""
    parameters = {"properties": {f"p{n}": {"type": "string", "description": f"the {n}th"} for n in range(20)}}
    tools = [{"type": "function", "function": {"name": f"f{n}", "parameters": parameters}} for n in range(10)]
    return compile_grammar(Options(format="hermes", model="m", id_prefix="i", tools=tools))


def test_packed_options_are_small_and_all_there() -> None:
    """As a snapshot has them; of the first event all but the tools."""
    known = grammar()
    packed = Packed(known)
    assert packed.memory < known.memory / 10
    assert (packed.key, packed.options, packed.encoded) == (known.key, known.options, encode_grammar(known))
    assert compile_grammar(packed.options) is known
    assert (packed.message_start.model, packed.message_start.format) == ("m", "hermes")
    assert (packed.request.id_prefix, packed.request.tools) == ("i", {})


def test_a_grammar_is_held_while_a_choice_goes_on_with_it() -> None:
    """The last end lets it go, and all ended choices share what is packed of it; another choice brings it back."""
    known, used = grammar(), Used()
    used.take(known)
    used.take(known)
    packed = used.end(known)
    assert (used.form, used.going_on) == (known, 1)
    assert used.end(known) is packed
    assert (used.form, used.grammar) == (packed, None)
    used.take(known)
    used.take(packed)
    assert (used.form, used.choices, used.going_on) == (known, 4, 1)
    used.drop(known)
    used.drop(packed)
    assert (used.form, used.choices, used.going_on) == (packed, 2, 0)
