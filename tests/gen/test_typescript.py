"""The package of types says what the events say; that it works is shown in `tests/judges`."""

import json
import re

import msgspec
import pytest

from tokenmill.events import EVENT_TYPES, Event
from tokenmill.gen import typescript


@pytest.mark.parametrize("event", EVENT_TYPES, ids=lambda event: event.type)
def test_every_event_has_its_fields(event: type[Event]) -> None:
    """Those of the envelope are inherited; one that may be left out is optional."""
    pattern = rf"export interface {event.__name__} extends Envelope \{{\n(.*?)\n\}}"
    found = re.search(pattern, typescript.types(), flags=re.DOTALL)
    assert found is not None
    named = dict(re.findall(r"^  (\w+)(\??): ", found[1], flags=re.MULTILINE))
    fields = [field for field in msgspec.structs.fields(event) if field.name not in Event.__struct_fields__]
    assert named == {"type": "", **{field.name: "" if field.required else "?" for field in fields}}


def test_the_package_has_the_version_of_this_one() -> None:
    """And names no place where it is kept."""
    package = json.loads(typescript.package())
    assert package["version"].count(".") == 2
    assert not {"repository", "homepage", "dependencies"} & package.keys()
