"""The table of the front lists what its labels can be, and the lists are those of the code."""

from typing import get_args

from tokenmill.apis.record import ApiName
from tokenmill.observe.front_table import APIS, FRONT_METRICS, STATUSES


def test_labels_are_names_of_lists() -> None:
    """A model, a client or a conversation is none."""
    labels = {label for metric in FRONT_METRICS for label in metric.labels}
    assert labels == {"api", "status", "how", "partition", "version", "python"}


def test_apis_are_those_that_requests_can_come_by() -> None:
    """None is missing, none is made up."""
    assert set(APIS) == set(get_args(ApiName))


def test_ways_to_end_that_are_normal_begin_at_0() -> None:
    """So that the first one is an increase."""
    (requests,) = (metric for metric in FRONT_METRICS if metric.name == "tokenmill_front_requests_total")
    assert {status for _, status in requests.known} <= set(STATUSES)
    assert {api for api, _ in requests.known} == set(APIS)


def test_all_names_tell_whose_they_are() -> None:
    """So that what a gateway counts is never added to it."""
    assert all(metric.name.startswith("tokenmill_front_") for metric in FRONT_METRICS)
