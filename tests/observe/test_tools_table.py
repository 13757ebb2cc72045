"""The table of those that run tools lists what its labels can be, and the list is that of the code."""

from typing import get_args

from tokenmill.observe.tools_table import OUTCOMES, TOOLS_METRICS
from tokenmill.tools.outcome import Code


def test_labels_are_names_of_lists() -> None:
    """A conversation, a message or what a model calls a tool is none."""
    assert {label for metric in TOOLS_METRICS for label in metric.labels} == {"outcome", "server", "version", "python"}
    assert set(OUTCOMES) == {"result", *get_args(Code)}


def test_all_names_tell_whose_they_are() -> None:
    """So that what a worker counts is never added to it."""
    assert all(metric.name.startswith("tokenmill_tools_") for metric in TOOLS_METRICS)
