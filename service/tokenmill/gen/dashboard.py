"""The Grafana dashboard as JSON, made from the rows in `dashboard_rows`."""

import json
from collections.abc import Iterator
from typing import Any

from tokenmill.gen.dashboard_rows import ROWS
from tokenmill.gen.panel import Panel, Query

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
"""The reader's choice: the file has no installation's own id."""

COLUMNS = 24
HEIGHTS = {"stat": 4, "timeseries": 8, "heatmap": 8}

_ANY = '__name__=~"tokenmill_((gateway|tools|front|caller)_)?build_info"'
"""Selector of every process, of any kind."""

VARIABLES = (
    ("namespace", f"label_values({{{_ANY}}}, namespace)"),
    ("job", f'label_values({{{_ANY}, namespace=~"$namespace"}}, job)'),
    ("instance", f'label_values({{{_ANY}, namespace=~"$namespace", job=~"$job"}}, instance)'),
    ("format", 'label_values(tokenmill_tool_calls_total{namespace=~"$namespace", job=~"$job"}, format)'),
    ("codec", 'label_values(tokenmill_chunks_consumed_total{namespace=~"$namespace", job=~"$job"}, codec)'),
)
"""Name and query of each variable; all of them may stay on All."""


def dashboard() -> str:
    """Return the file for Grafana, to import or provision."""
    return json.dumps(_model(), indent=2) + "\n"


def _model() -> dict[str, Any]:
    return {
        "uid": "tokenmill",
        "title": "tokenmill",
        "description": "All processes of tokenmill: traffic, errors and latency first, then what is short.",
        "tags": ["tokenmill", "kafka"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": [_alerts()]},
        "templating": {"list": [_source(), *(_variable(name, query) for name, query in VARIABLES)]},
        "panels": list(_panels()),
    }


def _alerts() -> dict[str, Any]:
    """Return an annotation that marks fired alerts in every panel."""
    return {
        "name": "Alerts",
        "datasource": SOURCE,
        "enable": True,
        "iconColor": "red",
        "expr": 'ALERTS{alertname=~"Tokenmill.+", alertstate="firing"}',
        "titleFormat": "{{alertname}}",
    }


def _source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}


def _variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        "refresh": 2,  # on every change of the time range: workers come and go
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",  # also series without the label, as outside Kubernetes
        "current": {"text": "All", "value": "$__all"},
    }


def _panels() -> Iterator[dict[str, Any]]:
    """Yield rows and their panels, from left to right and from the top."""
    number = y = 0
    for row in ROWS:
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "panels": [],
            "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1},
        }
        x, y, height = 0, y + 1, 0
        for panel in row.panels:
            if x + panel.width > COLUMNS:
                x, y, height = 0, y + height, 0
            number += 1
            height = max(height, HEIGHTS[panel.kind])
            place = {"x": x, "y": y, "w": panel.width, "h": HEIGHTS[panel.kind]}
            yield _panel(number, panel, place)
            x += panel.width
        y += height


def _panel(number: int, panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": SOURCE,
        "gridPos": place,
        "targets": [_target(place, query, panel) for place, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": _field(panel), "overrides": []},
        "options": _OPTIONS[panel.kind](panel),
    }


def _target(place: int, query: Query, panel: Panel) -> dict[str, Any]:
    return {
        "refId": chr(ord("A") + place),
        "datasource": SOURCE,
        "expr": query.expr,
        "legendFormat": query.legend or panel.title,
        "format": "heatmap" if panel.kind == "heatmap" else "time_series",
        "instant": panel.kind == "stat",
        "range": panel.kind != "stat",
    }


def _field(panel: Panel) -> dict[str, Any]:
    if panel.kind == "heatmap":
        return {}
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.red is not None:
        steps.append({"color": "red", "value": panel.red})
    field: dict[str, Any] = {"unit": panel.unit, "min": 0, "thresholds": {"mode": "absolute", "steps": steps}}
    if panel.kind == "timeseries":
        line = "dashed" if panel.red is not None else "off"
        field["custom"] = {"fillOpacity": 10, "showPoints": "never", "thresholdsStyle": {"mode": line}}
    return field


def _stat(_panel: Panel) -> dict[str, Any]:
    return {"colorMode": "value", "graphMode": "none", "textMode": "auto", "reduceOptions": {"calcs": ["lastNotNull"]}}


def _lines(_panel: Panel) -> dict[str, Any]:
    return {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def _heatmap(panel: Panel) -> dict[str, Any]:
    return {
        "calculate": False,  # Prometheus has the buckets already
        "cellGap": 1,
        "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64},
        "filterValues": {"le": 1e-9},
        "tooltip": {"mode": "single", "yHistogram": True},
        "yAxis": {"unit": panel.unit},
        "legend": {"show": True},
    }


_OPTIONS = {"stat": _stat, "timeseries": _lines, "heatmap": _heatmap}
