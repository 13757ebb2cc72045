"""The table of those that call models."""

from tokenmill.observe.caller_table import CALLER_METRICS


def test_labels_are_names_of_lists() -> None:
    """A model, its URL or a client is none."""
    labels = {label for metric in CALLER_METRICS for label in metric.labels}
    assert labels == {"outcome", "kind", "fate", "sign", "version", "python"}


def test_all_names_tell_whose_they_are() -> None:
    """So that what a front counts in the same process is never added to it."""
    assert all(metric.name.startswith("tokenmill_caller_") for metric in CALLER_METRICS)
