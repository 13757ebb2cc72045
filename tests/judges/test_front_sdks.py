"""The official SDKs for Python run a tool loop of three turns through the front, in every format of every server."""

from collections.abc import Iterator

import pytest

from tests.support.sdk_checks import check_direct, check_server, check_shown
from tests.support.sdk_clients import LOOPS
from tests.support.sdk_direct import direct
from tests.support.sdk_loops import MODELS, question
from tests.support.sdk_stack import SdkStack, sdk_stack

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, kafka: str, redis_url: str) -> Iterator[SdkStack]:
    """A front, a worker and the model servers."""
    with sdk_stack(tmp_path_factory.mktemp("sdks"), kafka, redis_url) as stack:
        yield stack


@pytest.fixture(scope="module")
def library() -> Iterator[str]:
    """A server that has nothing but the library."""
    with direct() as url:
        yield url


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("way", LOOPS)
def test_a_tool_loop_ends_as_with_the_library(stack: SdkStack, library: str, way: str, model: str) -> None:
    """Three turns, one generation each: what the SDK shows is what the library makes of the same text."""
    asked = question(f"{way}, {model}")
    turns = LOOPS[way](stack.url, model, asked)
    check_shown(turns, MODELS[model], way.partition(",")[0])
    check_direct(turns, LOOPS[way](library, model, asked), MODELS[model])
    check_server(stack, model, asked, turns)
