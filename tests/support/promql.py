"""What an expression of Prometheus's language asks for: metrics, and labels of theirs.

It knows the shapes that this project writes, not the whole language: selectors, and `by`, `on` and `without` in front
of them. promtool says whether an expression is one at all.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import yaml

from tokenmill.observe import CALLER_METRICS, FRONT_METRICS, GATEWAY_METRICS, METRICS, TOOLS_METRICS, Metric
from tokenmill.partition.outputs import ERROR_STAGES, FAILED_CALLS

BY_NAME = {
    metric.name: metric for metric in (*METRICS, *GATEWAY_METRICS, *TOOLS_METRICS, *FRONT_METRICS, *CALLER_METRICS)
}

SELECTOR = re.compile(r"\b(?P<name>(?:[a-z_]+:)?(?:tokenmill|process)_\w+(?::\w+)?)(?:\{(?P<matchers>[^}]*)\})?")
MATCHER = re.compile(r'(?P<label>\w+)(?P<sign>=~|!~|!=|=)"(?P<value>[^"]*)"')
GROUPING = re.compile(r"\b(?:by|on|without)\s*\((?P<labels>[^)]*)\)")


TARGET = {"namespace", "job", "instance"}
"""Labels that Prometheus itself gives to what it scrapes."""

PROCESS = {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"}
"""Metrics of every process, which `prometheus_client` adds to those of the table."""

SUFFIXES = ("_bucket", "_count", "_sum")

CODES = {
    ("tokenmill_parse_errors_total", "stage"): set(ERROR_STAGES.values()),
    ("tokenmill_tool_calls_total", "outcome"): set(FAILED_CALLS),
}
"""Values of labels that the table does not list because they come together with names of formats."""


class Selector(NamedTuple):
    """A metric, and what its labels have to be: label → alternatives."""

    name: str
    matchers: dict[str, list[str]]


def selectors(expression: str) -> list[Selector]:
    """Every metric that an expression names."""
    return [
        Selector(
            match["name"],
            {found["label"]: found["value"].split("|") for found in MATCHER.finditer(match["matchers"] or "")},
        )
        for match in SELECTOR.finditer(expression)
    ]


def grouped_by(expression: str) -> set[str]:
    """Every label by which an expression groups."""
    lists = (match["labels"].split(",") for match in GROUPING.finditer(expression))
    return {label.strip() for labels in lists for label in labels if label.strip()}


def as_rules(expressions: list[str]) -> str:
    """A file of recording rules with these expressions, for promtool to read."""
    numbered = [{"record": f"expression:{number}", "expr": text} for number, text in enumerate(expressions)]
    return yaml.safe_dump({"groups": [{"name": "expressions", "rules": numbered}]})


def unknown(expression: str, recorded: set[str]) -> list[str]:
    """What an expression names that does not exist: metrics, labels, values, bounds of buckets."""
    named = selectors(expression)
    labels = set().union(*(_labels(selector.name) for selector in named)) | TARGET
    problems = [f"no label {label}: {expression}" for label in grouped_by(expression) - labels]
    for selector in named:
        if selector.name in recorded | PROCESS:
            continue
        metric, suffix = _row(selector.name)
        if metric is None or (metric.kind == "histogram") != bool(suffix):
            problems.append(f"no metric {selector.name}")
            continue
        problems += [f"no {label} {value}: {selector.name}" for label, value in _strange(metric, suffix, selector)]
    return problems


def _row(name: str) -> tuple[Metric | None, str]:
    """The row of the table that a series belongs to, and what a histogram's series have behind the name."""
    suffix = next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")
    return BY_NAME.get(name.removesuffix(suffix)), suffix


def _labels(name: str) -> set[str]:
    """Labels of a metric, or of a recording rule, whose name begins with them."""
    if ":" in name:
        return set(name.partition(":")[0].split("_"))
    metric, suffix = _row(name)
    return {*(metric.labels if metric else ()), *({"le"} if suffix == "_bucket" else ())}


def _strange(metric: Metric, suffix: str, selector: Selector) -> Iterator[tuple[str, str]]:
    """Labels that the metric does not have, and values that they do not take."""
    for label, values in selector.matchers.items():
        for value in values:
            if label == "le" and suffix == "_bucket":
                fine = value in {str(bound) for bound in metric.buckets}
            elif label in metric.labels:
                fine = value.startswith("$") or value in _values(metric, label)
            else:
                fine = label in TARGET
            if not fine:
                yield label, value


def _values(metric: Metric, label: str) -> set[str]:
    """Values of a label that stands in an expression by name."""
    known = {row[metric.labels.index(label)] for row in metric.known}
    return known or CODES.get((metric.name, label), set())
