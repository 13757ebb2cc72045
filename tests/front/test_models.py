"""The names that clients may ask for."""

import pytest
from anthropic.types import ModelInfo
from openai.types import Model

from tests.support.fronts import fronting

pytestmark = pytest.mark.integration


async def test_models_are_listed_for_the_sdks_of_both_sides(kafka: str, unique: str) -> None:
    """Interfaces refuse to start without; a name may have a slash in it."""
    async with fronting(kafka, unique) as front:
        async with front.session.get(f"{front.url}/v1/models") as response:
            listed = await response.json()
            assert (listed["object"], [each["id"] for each in listed["data"]]) == ("list", ["claude", "m", "org/model"])
            assert all(Model.model_validate(each) for each in listed["data"])
        headers = {"anthropic-version": "2023-06-01"}
        async with front.session.get(f"{front.url}/v1/models", headers=headers) as response:
            listed = await response.json()
            assert (listed["first_id"], listed["last_id"], listed["data"][0]["type"]) == (
                "claude",
                "org/model",
                "model",
            )
            assert {ModelInfo.model_validate(each).lifecycle for each in listed["data"]} == {"active"}
        async with front.session.get(f"{front.url}/v1/models/org/model") as response:
            assert (await response.json())["id"] == "org/model"
        async with front.session.head(f"{front.url}/v1/models") as response:  # whether anybody is there
            assert (response.status, await response.read()) == (200, b"")
        async with front.session.get(f"{front.url}/v1/models/nobody") as response:
            assert (response.status, (await response.json())["error"]["code"]) == (404, "model_not_found")
