"""The rules for Prometheus: valid, tested, only about metrics that exist, each with a section in the runbooks."""

import re
from pathlib import Path

import pytest

from tests.structure.tree import CHECKOUT, DOCS, TESTS
from tests.support.deployment import RULES, promtool, read_yaml, rules
from tests.support.promql import grouped_by, selectors, unknown

RECORDING, ALERTS = RULES
CASES = TESTS / "deploy" / "rules_test.yaml"
RUNBOOKS = DOCS / "howto" / "runbooks.md"

ONLY_IN_LOGS = {"refused-logins"}
"""Sections of the runbooks that no metric leads to."""


def anchors(page: Path) -> set[str]:
    """What links to the page's sections end with."""
    titles = re.findall(r"^## (.+)$", page.read_text(), flags=re.MULTILINE)
    return {title.lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_promtool_takes_the_rules(path: Path) -> None:
    """`promtool check rules`: expressions, templates, names."""
    assert "SUCCESS" in promtool("check", "rules", path)


@pytest.mark.slow
def test_alerts_fire_when_they_should_and_at_no_other_time() -> None:
    """`promtool test rules` over hours of made-up metrics."""
    assert "SUCCESS" in promtool("test", "rules", CASES)


def test_every_alert_has_a_case_in_which_it_fires() -> None:
    """A rule without a case may never fire."""
    tested = set(re.findall(r'alertname(?:: |=")(Tokenmill\w+)', CASES.read_text()))
    assert tested == {rule["alert"] for rule in rules(ALERTS)}


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_rules_ask_only_for_what_exists(path: Path) -> None:
    """Metrics of the table with labels that they have, or what a recording rule makes."""
    recorded = {rule["record"] for rule in rules(RECORDING)}
    assert [problem for rule in rules(path) for problem in unknown(rule["expr"], recorded)] == []


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("tokenmill_chunks_total", "no metric"),
        ("rate(tokenmill_restore_seconds[5m])", "no metric"),
        ("tokenmill_open_messages_bucket", "no metric"),
        ('tokenmill_restores_total{kind="redis"}', "no kind"),
        ('tokenmill_restores_total{source="red"}', "no source"),
        ('tokenmill_restore_seconds_bucket{le="0.3"}', "no le"),
        ('tokenmill_parse_errors_total{stage="json"}', "no stage"),
        ("sum by (job, topic) (tokenmill_restores_total)", "no label topic"),
        ("job:tokenmill_late:ratio", "no metric"),
    ],
)
def test_what_does_not_exist_is_noticed(expression: str, what: str) -> None:
    """The check of rules and dashboard finds each kind of mistake."""
    (problem,) = unknown(expression, set())
    assert problem.startswith(what)


def test_recorded_names_say_their_labels() -> None:
    """`job:…` has `namespace` and `job`, and `job_format:…` the format besides."""
    for rule in rules(RECORDING):
        level = rule["record"].partition(":")[0]
        named = [selector for selector in selectors(rule["expr"]) if not selector.name.startswith("job")]
        assert grouped_by(rule["expr"]) == {"namespace", *level.split("_")}
        assert named != []


def test_nothing_is_recorded_in_vain() -> None:
    """An alert or the dashboard reads every recorded name."""
    readers = ALERTS.read_text() + RECORDING.read_text() + (CHECKOUT / "deploy/grafana/tokenmill.json").read_text()
    for rule in rules(RECORDING):
        assert len(re.findall(rf"{rule['record']}\b", readers)) > 1


@pytest.mark.parametrize("rule", rules(ALERTS), ids=lambda rule: f"{rule['alert']} {rule['labels']}")
def test_an_alert_says_what_to_do(rule: dict[str, dict[str, str]]) -> None:
    """Its severity, what happened, what that means, and a section of the runbooks."""
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    assert CHECKOUT / page == RUNBOOKS
    assert anchor in anchors(RUNBOOKS)


def test_every_runbook_has_an_alert() -> None:
    """Nobody has to look at numbers to find out that something is wrong."""
    led_to = {rule["annotations"]["runbook_url"].partition("#")[2] for rule in rules(ALERTS)}
    assert led_to == anchors(RUNBOOKS) - ONLY_IN_LOGS


def test_burn_rates_spend_the_same_budget() -> None:
    """Factor and windows fit: 2, 5, 10 and 10 % of 30 days' budget; the short one is a twelfth."""
    hours = {"m": 1 / 60, "h": 1, "d": 24}
    shares = []
    for group in read_yaml(ALERTS)["groups"]:
        if not group["name"].endswith("-budget"):
            continue
        for rule in group["rules"]:
            long, short = (rule["labels"][f"{name}_window"] for name in ("long", "short"))
            (factor,) = set(re.findall(r"> ([\d.]+) \*", rule["expr"]))
            long_h, short_h = (int(window[:-1]) * hours[window[-1]] for window in (long, short))
            assert long_h == pytest.approx(12 * short_h)
            assert {f"rate{long}", f"rate{short}"} <= set(re.findall(r"rate\w+", rule["expr"]))
            shares.append(round(float(factor) * long_h / (30 * 24), 3))
    assert shares == [0.02, 0.05, 0.1, 0.1] * 2
