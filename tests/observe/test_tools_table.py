"""The table of those that run tools."""

from tokenmill.observe.tools_table import TOOLS_METRICS


def test_labels_are_names_of_lists() -> None:
    """A conversation, a message or what a model calls a tool is none."""
    assert {label for metric in TOOLS_METRICS for label in metric.labels} == {"outcome", "server", "version", "python"}


def test_all_names_tell_whose_they_are() -> None:
    """So that what a worker counts is never added to it."""
    assert all(metric.name.startswith("tokenmill_tools_") for metric in TOOLS_METRICS)
