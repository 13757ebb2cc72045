"""The table of those that call models lists what its labels can be, and the lists are those of the code."""

from tokenmill.caller import answer, failure, inheritance
from tokenmill.observe.caller_table import CALLER_METRICS, FAILURES, FATES, OUTCOMES


def test_labels_are_names_of_lists() -> None:
    """A model, its URL or a client is none."""
    labels = {label for metric in CALLER_METRICS for label in metric.labels}
    assert labels == {"outcome", "kind", "fate", "version", "python"}


def test_the_lists_are_those_of_the_code() -> None:
    """None is missing, none is made up: what comes of requests, how servers fail, what becomes of what is left."""
    assert OUTCOMES == answer.OUTCOMES
    assert FAILURES == failure.KINDS
    assert FATES == inheritance.FATES


def test_all_names_tell_whose_they_are() -> None:
    """So that what a front counts in the same process is never added to it."""
    assert all(metric.name.startswith("tokenmill_caller_") for metric in CALLER_METRICS)
