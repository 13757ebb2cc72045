"""The arguments that formats are tried with."""

import jsonschema_rs
import pytest

from tokenmill.templates.probes import PROBES, Probe, probe


def test_names_are_given_once() -> None:
    """A report speaks of probes by name; the first two are simple."""
    names = [each.name for each in PROBES]
    assert len(names) == len(set(names))
    assert names[:2] == ["a word and a number", "no arguments"]


@pytest.mark.parametrize("each", PROBES, ids=lambda each: each.name)
def test_arguments_fit_the_schemas_that_are_declared(each: Probe) -> None:
    """Each call has a tool of its own, whose schema says all types."""
    assert len(each.tools) == len(each.calls)
    for (name, arguments), tool in zip(each.calls, each.tools, strict=True):
        assert tool["function"]["name"] == name
        assert jsonschema_rs.is_valid(tool["function"]["parameters"], arguments)


def test_a_list_of_unlike_things_has_a_schema_that_each_fits() -> None:
    """Lists of numbers and lists of texts are both lists, and yet nothing is true of both."""
    arguments = {"rows": [[0], [""]]}
    assert jsonschema_rs.is_valid({"properties": probe("unlike", arguments).schemas[0]}, arguments)
