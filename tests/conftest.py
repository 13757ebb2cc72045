"""Fixtures that all tests share: a Kafka for the run, a Redis for each of its processes, and private ones to break."""

import gc
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from itertools import count, cycle
from pathlib import Path
from uuid import uuid4
from zlib import crc32

import pytest
from hypothesis import settings

import tokenmill
from tests.support.kafka_classes import java_options
from tests.support.prerequisites import missing
from tests.support.servers import any_kafka, any_redis
from tests.support.shared import run_folder, shared
from tests.support.warm import Warm
from tokenmill.partition.tally import Tally
from tokenmill.plugins import load_plugins
from tokenmill.servers import KafkaServer, RedisServer
from tokenmill.servers.ours import OurProcess

# Tests go through all components, those of the systems with them.
load_plugins()

# Processes that tests start run the package that the tests import, wherever they run and whatever is installed.
os.environ["PYTHONPATH"] = str(Path(tokenmill.__file__).resolve().parents[1])

# Who is started in the background of a script ignores SIGINT, and so would all processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Brokers start quickly, whoever starts them.
os.environ["JDK_JAVA_OPTIONS"] = " ".join([*java_options(), os.environ.get("JDK_JAVA_OPTIONS", "")])

# A second of a processor less for each of hundreds.
WARM = cycle((Warm(), Warm()))  # in turns, as copies of one have one order of sets, before a crash and behind it
OurProcess.launch = lambda server, command, log: next(WARM).launch(command, log, server.surroundings())  # type: ignore[method-assign,assignment,return-value] # -- a copy does what a process does

# Machines are shared and slow at times, so no example has a deadline; a check of a change finds the same every time.
settings.register_profile("tests", deadline=None, print_blob=True, derandomize="CI" in os.environ)
settings.register_profile("quick", settings.get_profile("tests"), max_examples=20)
settings.load_profile("tests")


FOR_ALL = __name__
"""Where the fixtures are that tests of any process may use."""


MARKED: dict[str, tuple[str, ...]] = {
    "built": (
        "tests/chart",
        "tests/deploy/test_compose.py",
        "tests/deploy/test_release.py",
        "tests/integration/test_telemetry.py",
    ),
    "exhaustive": (
        "tests/apis/test_api.py",
        "tests/bench",
        "tests/commands/test_check_template.py",
        "tests/conformance",
        "tests/dialects/test_arguments.py",
        "tests/parser/modes/test_section.py",
        "tests/properties",
        "tests/templates",
    ),
    "integration": (
        "tests/caller/test_renderer.py",
        "tests/chart",
        "tests/commands/test_reading.py",
        "tests/commands/test_tools.py",
        "tests/deploy",
        "tests/front/test_host.py",
        "tests/gateway/auth/test_jwks.py",
        "tests/gateway/event_log/test_gauges.py",
        "tests/judges",
        "tests/servers",
        "tests/test___main__.py",
        "tests/test_plugins.py",
        "tests/tools/test_calling.py",
        "tests/tools/test_connection.py",
        "tests/tools/test_launch.py",
        "tests/tools/test_link.py",
        "tests/tools/test_program.py",
    ),
    "whole": ("tests/gen", "tests/structure"),
}
"""Markers of whole folders and files; single tests have theirs beside them."""

AT_LEISURE = ("apiserver", "slow", *MARKED)
"""What `--quick` leaves out; of whole folders and files it does not even look for the tests."""


SPANS = {"built": (0.4, 1.0), "slow": (0.0, 0.6), "integration": (0.0, 1.0), "": (0.0, 1.0)}
"""Over which part of a run tests are spread, by the first of these markers that they have.

Programs that are built beside the first tests (`make judges`) are there by then. Slow tests together take less than
half of a run.
"""


NAMED = 100
"""Characters of a text that names a test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--quick`, for the time between two edits."""
    parser.addoption("--quick", action="store_true", help="only tests that need no server and try few cases")


def pytest_configure(config: pytest.Config) -> None:
    """`--quick` is an expression over markers, and fewer examples of each property."""
    if config.option.quick:
        settings.load_profile("quick")
        config.option.markexpr = f"not ({' or '.join(AT_LEISURE)})"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """To find thousands of cases takes longer than to run the others."""
    if not config.option.quick:
        return None
    place = collection_path.relative_to(config.rootpath).as_posix()
    return any(place in places for places in MARKED.values()) or None


@pytest.hookimpl(tryfirst=True)  # before groups are looked at
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Spread tests over processes: what is made once for some is made in one, and no processor is idle for long.

    So those that wait for servers come between those that compute, and the slow ones in time for the others to fill the
    end.
    """
    cases: dict[str, list[pytest.Item]] = {}  # of one test all are in the same place: thousands are looked at once
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    marked = [(getattr(pytest.mark, marker), _beginnings(*places)) for marker, places in MARKED.items()]
    places = sorted(set().union(*(_shared(of_test[0]) for of_test in cases.values())))
    groups = [(pytest.mark.xdist_group(place), _beginnings(place)) for place in places]
    for name, of_test in cases.items():
        around = [next((group for group, of_group in groups if name.startswith(of_group)), None)]
        for marker in filter(None, [*(each for each, of_marked in marked if name.startswith(of_marked)), *around]):
            for item in of_test:
                item.add_marker(marker)
    if hasattr(config, "workerinput") and config.option.quick:
        # Files of a folder wait, or compute, alike: scattered, some compute while others wait.
        items.sort(key=lambda item: crc32(item.location[0].encode()))
    elif hasattr(config, "workerinput"):
        kinds: dict[str, list[pytest.Item]] = {kind: [] for kind in SPANS}
        for item in items:
            kinds[next((kind for kind in SPANS if item.get_closest_marker(kind)), "")].append(item)
        items[:] = _mixed(kinds)


def _beginnings(*places: str) -> tuple[str, ...]:
    """How the names of tests begin that lie in these folders and files."""
    return tuple(f"{place}{end}" for place in places for end in ("/", "::"))


def _mixed(kinds: Mapping[str, list[pytest.Item]]) -> list[pytest.Item]:
    """All of them, each kind in its order and spread evenly over its part of the run."""
    placed = []
    for kind, of_kind in kinds.items():
        begin, end = SPANS[kind]
        placed += [(begin + (end - begin) * at / len(of_kind), item) for at, item in enumerate(of_kind)]
    return [item for _, item in sorted(placed, key=lambda place: place[0])]


def pytest_report_header() -> list[str]:
    """What is not on this machine, at the start of a run."""
    return [f"missing: {need.what}: {need.then}" for need in missing()]


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """A long text is not a part of a test's name: all processes tell all names to each other."""
    return f"{argname} of {len(val)}" if isinstance(val, str | bytes) and len(val) > NAMED else None


def pytest_collection() -> None:
    """Nothing that is made while tests are looked for is garbage: they are kept to the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Whoever collects garbage need not look through thousands of tests: benchmarks do so between any two rounds."""
    gc.freeze()
    gc.enable()


def _shared(item: pytest.Item) -> set[str]:
    """The modules and folders of fixtures that the test shares with others of its process."""
    assert isinstance(item, pytest.Function)
    fixtures = (fixture for found in item._fixtureinfo.name2fixturedefs.values() for fixture in found)
    scopes = ("module", "package", "session")
    ours = (fixture for fixture in fixtures if fixture.scope in scopes and fixture.func.__module__ != FOR_ALL)
    return {fixture.baseid for fixture in ours if fixture.baseid}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have to tell besides pass or fail, from whichever process they ran in: property `report`."""
    for outcome in ("passed", "failed"):
        for test in terminalreporter.getreports(outcome):
            for name, value in test.user_properties:
                if name == "report" and test.when == "call":
                    terminalreporter.section(test.nodeid)
                    terminalreporter.write_line(str(value))


@pytest.fixture(autouse=True)
def sound(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the program fails on fails the test, too, which else might see no more than one dead letter among others.

    Tests that have it fail put another fixture of this name in the place of this one.
    """
    failed: list[str] = []
    fail = Tally.fail

    def noted(tally: Tally, where: str) -> None:
        failed.append(where)
        fail(tally, where)

    monkeypatch.setattr(Tally, "fail", noted)
    yield
    assert failed == []


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap servers of a Kafka that all tests share; use `unique` in the names of topics and groups."""
    folder = run_folder(tmp_path_factory) / "kafka"
    folder.mkdir(exist_ok=True)
    with shared(folder, any_kafka) as bootstrap:
        yield bootstrap


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a Redis that all tests share; use `unique` as the prefix of keys and never flush it."""
    with any_redis(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture
def unique() -> str:
    """A short text that no other test has, for names on shared servers."""
    return uuid4().hex[:8]


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A running Redis of the test's own, to flush, freeze, kill and start again."""
    with RedisServer(tmp_path / "redis") as server:
        yield server


@pytest.fixture
def start_kafka(tmp_path: Path) -> Iterator[Callable[..., KafkaServer]]:
    """Start a Kafka of the test's own, with settings of its own, to freeze, kill and start again."""
    numbers = count()
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(
            KafkaServer(tmp_path / f"kafka-{next(numbers)}", {k.replace("_", "."): v for k, v in settings.items()})
        )
