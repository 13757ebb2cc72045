"""The chart's schema and README are made of its values and of the code."""

import json

import jsonschema_rs
import msgspec

from tokenmill.config import Config
from tokenmill.config.read import LISTS
from tokenmill.gen import chart


def test_values_have_path_comment_and_default() -> None:
    """As they stand in values.yaml; a comment may take several lines, a default may be a table."""
    found = {value.path: value for value in chart.values()}
    assert found["image.pullPolicy"] == (
        "image.pullPolicy",
        "Pull policy.",
        "IfNotPresent",
    )
    assert found["topics.create"].text.endswith("`none` leaves it to you.")
    assert found["worker.resources"].default == ""
    assert found["metrics.dashboard.labels"].default == '{grafana_dashboard: "1"}'


def test_the_readme_has_every_value() -> None:
    """One row each."""
    readme = chart.readme()
    assert all(f"| `{value.path}` | " in readme for value in chart.values())


def test_the_schema_describes_every_value() -> None:
    """With the comment of values.yaml."""
    whole = json.loads(chart.schema())
    assert whole["properties"]["worker"]["properties"]["replicas"]["description"].startswith("Number of workers")


def test_the_schema_of_the_configuration_is_the_applications() -> None:
    """Every key of every section, less what belongs into a Secret or to one pod; unknown ones are refused."""
    sections = chart.config_schema()["properties"]
    for field in msgspec.structs.fields(Config):
        if field.name not in LISTS:
            left_out = set(field.type.__struct_fields__) - sections[field.name]["properties"].keys()
            assert left_out <= {"sasl_password", "ssl_password", "jwt_secret", "ticket_secret", "group_instance_id"}
    accepts = jsonschema_rs.validator_for(chart.config_schema()).is_valid
    assert accepts({"kafka": {"group_id": "mill"}, "outputs": [{"topic": "more"}]})
    assert not accepts({"kafka": {"group": "mill"}})
    assert not accepts({"outputs": [{"dialect": "openai"}]})
    assert not accepts({"kafka": {"group_instance_id": "mill-0"}})


def test_passwords_are_refused() -> None:
    """A ConfigMap is no place for them."""
    accepts = jsonschema_rs.validator_for(chart.config_schema()).is_valid
    assert accepts({"redis": {"url": "redis://redis:6379/0"}})
    assert not accepts({"redis": {"url": "redis://:password@redis:6379/0"}})
    assert not accepts({"kafka": {"sasl_password": "open-sesame"}})


def test_a_copy_is_the_file() -> None:
    """Byte for byte."""
    assert chart.copy_of("LICENSE")() == (chart.CHECKOUT / "LICENSE").read_text()
