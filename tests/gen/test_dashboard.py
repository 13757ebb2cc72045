"""The dashboard as Grafana reads it."""

import json
import re
from itertools import combinations, pairwise
from typing import Any

from tokenmill.gen.dashboard import COLUMNS, SOURCE, VARIABLES, dashboard

MODEL: dict[str, Any] = json.loads(dashboard())
PANELS: list[dict[str, Any]] = MODEL["panels"]


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    """Whether two places share a cell."""
    beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
    below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    return not beside and not below


def test_panels_fill_the_grid_without_overlap() -> None:
    """From the left to the right and from the top down, none beyond the last column."""
    places = [panel["gridPos"] for panel in PANELS]
    assert all(place["x"] + place["w"] <= COLUMNS for place in places)
    assert not any(overlap(one, other) for one, other in combinations(places, 2))
    assert all((one["y"], one["x"]) < (other["y"], other["x"]) for one, other in pairwise(places))


def test_panels_have_numbers_of_their_own() -> None:
    """Grafana takes two panels with one id for the same."""
    ids = [panel["id"] for panel in PANELS]
    assert len(ids) == len(set(ids))


def test_no_installation_is_named() -> None:
    """Every data source is the one that the reader chooses."""
    asking = [*PANELS, *(target for panel in PANELS for target in panel.get("targets", ()))]
    asking += [*MODEL["annotations"]["list"], *MODEL["templating"]["list"]]
    named = [each["datasource"] for each in asking if "datasource" in each]
    assert named == [SOURCE] * dashboard().count('"datasource": ')


def test_variables_are_those_that_are_used() -> None:
    """None that does nothing, none that is not there."""
    asked = "".join(target["expr"] for panel in PANELS for target in panel.get("targets", ()))
    used = {name for name in re.findall(r"\$(\w+)", asked) if not name.startswith("__")}
    assert used == {name for name, _ in VARIABLES}
    assert {variable["name"] for variable in MODEL["templating"]["list"]} == used | {"datasource"}


def test_heat_maps_get_buckets_and_numbers_the_last_value() -> None:
    """Each kind of panel asks in the way that it needs."""
    for panel in PANELS:
        for target in panel.get("targets", ()):
            assert (target["format"] == "heatmap") == (panel["type"] == "heatmap")
            assert target["instant"] == (panel["type"] == "stat")
            assert target["instant"] != target["range"]


def test_what_is_too_much_is_red() -> None:
    """A panel with a threshold has it as a step; lines show it as a dashed line."""
    (panel,) = (panel for panel in PANELS if panel["title"] == "Event loop")
    defaults = panel["fieldConfig"]["defaults"]
    assert defaults["thresholds"]["steps"][1:] == [{"color": "red", "value": 0.5}]
    assert defaults["custom"]["thresholdsStyle"] == {"mode": "dashed"}
