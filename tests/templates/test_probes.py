"""The arguments that formats are tried with."""

import jsonschema_rs
import pytest

from tokenmill.templates.probes import PROBES, Probe


def test_names_are_given_once() -> None:
    """A report speaks of probes by name; the first two are simple."""
    names = [probe.name for probe in PROBES]
    assert len(names) == len(set(names))
    assert names[:2] == ["a word and a number", "no arguments"]


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_arguments_fit_the_schemas_that_are_declared(probe: Probe) -> None:
    """Each call has a tool of its own, whose schema says all types."""
    assert len(probe.tools) == len(probe.calls)
    for (name, arguments), tool in zip(probe.calls, probe.tools, strict=True):
        assert tool["function"]["name"] == name
        assert jsonschema_rs.is_valid(tool["function"]["parameters"], arguments)
