"""The image, as far as it goes without a Docker daemon; and for real where one answers.

Without one the first stage is carried out in a folder: the same commands, the same lock files, a clean virtual
environment, with packages that were fetched by the lock files before. What comes of it is run as a user without a name
and without rights, which can write to nothing but /tmp.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.structure.tree import CHECKOUT, DOCS
from tests.support import odd_server
from tests.support.dockerfile import DOCKERFILE, build, fetch, named, pairs, stages
from tests.support.nobody import NOBODY, ImageWorker, Nobody, python_for_all
from tests.support.servers import docker_answers
from tests.support.stage import Stage
from tokenmill.commands import COMMANDS
from tokenmill.config import Config

BUILD, LAST = stages(DOCKERFILE.read_text())
PAGE = DOCS / "howto" / "run-in-containers.md"
LOCKS = ("deploy/build.lock", "deploy/requirements.lock", "deploy/tools.lock")
HELP = "from tokenmill.__main__ import main; import sys; sys.exit(any([main([name, '-h']) for name in sys.argv[1:]]))"
PIN = re.compile(r"^([\w.-]+)(?:\[[\w, ]+\])?==(\S+).*?\\\n((?:    --hash=\S+(?: \\)?\n)+)", flags=re.MULTILINE)


def pins(lock: str) -> dict[str, tuple[str, str]]:
    """Package → version and hashes."""
    return {name: (version, hashes) for name, version, hashes in PIN.findall((CHECKOUT / lock).read_text())}


@pytest.fixture(scope="session")
def installed() -> Iterator[Nobody]:
    """What the first stage leaves to the last, where every user can read it."""
    yield from built()


@pytest.fixture(scope="session")
def installed_with_tools() -> Iterator[Nobody]:
    """The same of the image for runners of tools."""
    yield from built(LOCK="tools.lock")


def built(**arguments: str) -> Iterator[Nobody]:
    """The first stage with these arguments."""
    with tempfile.TemporaryDirectory(prefix="tokenmill-image-") as folder:
        root = Path(folder).resolve()
        root.chmod(0o755)
        path = root / "path"
        path.mkdir()
        (path / "python").symlink_to(python_for_all())
        fetch(LOCKS, path)
        build(BUILD, root, path, **arguments)
        with Nobody(root / "opt" / "tokenmill").read_only() as nobody:
            yield nobody


def test_the_linter_finds_nothing() -> None:
    """hadolint, with its defaults."""
    linter = Path(sys.executable).parent / "hadolint"
    run = subprocess.run([linter, "--no-color", DOCKERFILE], capture_output=True, text=True, timeout=60, check=False)
    assert (run.stdout, run.returncode) == ("", 0)


def test_the_build_gets_what_it_copies() -> None:
    """`.dockerignore` names the sources of all `COPY`, and no more."""
    written = {source for value in named(BUILD, "COPY") for source in value.split()[:-1]}
    copied = written - {"deploy/${LOCK}"} | set(LOCKS)
    lines = (CHECKOUT / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == copied


def test_the_locks_of_the_image_are_parts_of_the_whole_lock() -> None:
    """Versions and hashes are those that everything is tested with, and what only tests need is left out."""
    whole = pins("requirements.lock")
    for lock in LOCKS:
        assert len(pins(lock)) > 5
        assert pins(lock).items() <= whole.items()
    assert not {"pytest", "mypy", "ruff", "hatchling", "confluent-kafka", "openai"} & pins(LOCKS[1]).keys()
    assert pins(LOCKS[1]).items() <= pins(LOCKS[2]).items()


def test_packages_are_taken_by_hash_only() -> None:
    """No install without `--require-hashes`, but that of the package's own wheel, which looks nowhere else."""
    installs = re.findall(r" install ([^&]*)", " ".join(named(BUILD, "RUN")))
    assert len(installs) == 3
    for arguments in installs:
        assert "--require-hashes" in arguments or {"--no-index", "--no-deps"} <= set(arguments.split())


def test_the_last_stage_installs_nothing() -> None:
    """It takes the environment from the first, and removes the base's own installer."""
    assert named(LAST, "COPY") == ["--from=build /opt/tokenmill /opt/tokenmill"]
    (removal,) = (instruction for instruction in LAST if instruction.name == "RUN")
    assert removal.command[:4] == ["python", "-m", "pip", "uninstall"]
    assert "pip" in removal.command[5:]


def test_the_image_says_what_it_is() -> None:
    """Labels of the OCI's specification; version, revision and time are the builder's to say."""
    labels = pairs(named(LAST, "LABEL")[0])
    keys = {"title", "description", "licenses", "version", "revision", "created", "base.name"}
    assert labels.keys() == {f"org.opencontainers.image.{key}" for key in keys}
    arguments = {value.partition("=")[0] for value in named(LAST, "ARG")}
    assert {re.sub(r"\W", "", text) for text in labels.values() if text.startswith("$")} == arguments


def test_every_port_of_a_service_is_said() -> None:
    """Of the image, and of what each answers to a health check on the page about it."""
    config = Config()
    checked = {config.gateway.ops_port, config.tools.port, config.front.ops_port, config.caller.port}
    (exposed,) = named(LAST, "EXPOSE")
    services = {config.worker.port, config.gateway.port, config.front.port, *checked}
    assert sorted(int(port) for port in exposed.split()) == sorted(services)
    (health,) = (line for line in PAGE.read_text().splitlines() if line.startswith("| health |"))
    assert {int(port) for port in re.findall(r"\b80\d\d\b", health)} == checked


def test_the_user_is_a_number_and_not_root() -> None:
    """What `runAsNonRoot` of Kubernetes can check."""
    (user,) = named(LAST, "USER")
    assert re.fullmatch(r"[1-9]\d{4,}:[1-9]\d{4,}", user)


@pytest.mark.slow
def test_the_environment_has_what_the_lock_says_and_nothing_else(installed: Nobody) -> None:
    """No pip, no test tools; versions as pinned; the package itself."""
    code = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    listed = json.loads(installed.run("python", "-c", code))
    found = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in listed.items()}
    assert installed.run("tokenmill", "--version").endswith(f" {found.pop('tokenmill')}\n")
    locked = {name: version for name, (version, _) in pins(LOCKS[1]).items()}
    assert found.items() <= locked.items()
    assert locked.keys() - found.keys() <= {"colorama", "async-timeout", "tzdata"}  # for other systems


@pytest.mark.slow
def test_only_the_image_for_tools_has_the_sdk_of_their_protocol(
    installed: Nobody, installed_with_tools: Nobody, servers: Path
) -> None:
    """It starts a server that is a program, and asks it; the other image says what it lacks."""
    listing = ["tokenmill", "tools", "list", "--json", "--servers", str(servers)]
    listed = json.loads(installed_with_tools.run(*listing))
    assert "odd__late" in {tool["function"]["name"] for tool in listed}
    with pytest.raises(AssertionError, match=r"pip install 'tokenmill\[tools\]'"):
        installed.run(*listing)


@pytest.fixture
def servers() -> Iterator[Path]:
    """A file that everybody may read, with a server that needs nothing but Python."""
    program = Path(odd_server.__file__).read_text()
    with tempfile.TemporaryDirectory(prefix="tokenmill-servers-") as folder:
        path = Path(folder) / "servers.json"
        path.write_text(json.dumps({"mcpServers": {"odd": {"command": "python", "args": ["-c", program]}}}))
        Path(folder).chmod(0o755)
        yield path


@pytest.mark.slow
def test_chat_templates_can_be_rendered(installed: Nobody) -> None:
    """Whoever calls models needs that: Jinja2 is there, and the process that renders starts without rights."""
    asked = {"cpu_s": 9, "template": "{{ dish | upper }}", "conversations": [{"dish": "soup"}]}
    render = 'printf %s "$1" | python -m tokenmill.templates.sandbox'
    said = installed.run("sh", "-c", render, "sh", json.dumps(asked))
    assert json.loads(said) == [{"text": "SOUP"}]


@pytest.mark.slow
def test_bytecode_is_checked_by_hash(installed: Nobody) -> None:
    """Without times in it two builds give the same files, and a read-only file system never makes it stale."""
    compiled = [*installed.folder.rglob("tokenmill/**/*.pyc"), *installed.folder.rglob("aiokafka/**/*.pyc")]
    assert len(compiled) > 100
    assert {path.read_bytes()[4] for path in compiled} == {0b11}


@pytest.mark.slow
def test_commands_start_without_a_home_and_without_rights(installed: Nobody) -> None:
    """Each of them answers `-h` to a user that can write nothing but /tmp; in one process, as they are twenty."""
    with pytest.raises(AssertionError, match=r"Permission denied|Read-only"):
        installed.run("touch", str(installed.folder / "lib" / "new"))
    helped = installed.run("python", "-c", HELP, *COMMANDS)
    assert re.findall(r"^Usage: tokenmill (\w+)", helped, flags=re.MULTILINE) == list(COMMANDS)
    assert "Usage: tokenmill " in installed.run("tokenmill", "--help")
    assert "sound" in installed.run("tokenmill", "config", "check")


@pytest.mark.slow
@pytest.mark.integration
async def test_the_worker_of_the_image_works(installed: Nobody, stage: Stage, tmp_path: Path) -> None:
    """Started as the image starts it: the health check passes, a call is read, and SIGTERM ends it with 0."""
    (entry,) = (instruction.command for instruction in LAST if instruction.name == "ENTRYPOINT")
    (command,) = (instruction.command for instruction in LAST if instruction.name == "CMD")
    (check,) = named(LAST, "HEALTHCHECK")
    healthcheck = json.loads(check.partition("CMD ")[2])
    with ImageWorker(tmp_path, installed, [*entry, *command], stage.settings) as worker:
        installed.run(*healthcheck, TOKENMILL_WORKER__PORT=str(worker.port))
        with pytest.raises(AssertionError):
            installed.run(*healthcheck, TOKENMILL_WORKER__PORT="1")
        await stage.send("c", {"message_id": "m", "delta": "Hello", "end": True})
        tail = ["tail", "c", "--from-beginning", "--until-finish", "--timeout", "60"]
        told = installed.run("tokenmill", *tail, **worker.variables)
        assert [json.loads(line)["type"] for line in told.splitlines()][-1] == "finish"
        worker.process.terminate()
        assert worker.process.wait(30) == 0


@pytest.mark.slow
@pytest.mark.integration
async def test_the_gateway_is_the_same_image_with_another_argument(
    installed: Nobody, stage: Stage, tmp_path: Path
) -> None:
    """It starts without rights and a home, says that it is ready, and SIGTERM ends it with 0."""
    (entry,) = (instruction.command for instruction in LAST if instruction.name == "ENTRYPOINT")
    with ImageWorker(tmp_path, installed, [*entry, "gateway"], stage.settings) as gateway:
        gateway.process.terminate()
        assert gateway.process.wait(30) == 0


@pytest.mark.slow
def test_a_daemon_builds_the_image() -> None:
    """With every step for real, and what comes of it runs with a read-only file system as any user."""
    if not docker_answers():
        pytest.skip("no Docker daemon answers")
    tag = "tokenmill:test"
    build = ["docker", "build", "--quiet", "--file", str(DOCKERFILE), "--tag", tag, "--build-arg", "VERSION=test"]
    subprocess.run([*build, str(CHECKOUT)], check=True, timeout=1_200)
    run = ["docker", "run", "--rm", "--read-only", "--tmpfs", "/tmp", "--cap-drop=ALL", f"--user={NOBODY}"]  # noqa: S108 -- in the container
    said = subprocess.run([*run, tag, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    assert said.startswith("tokenmill ")
    pip = subprocess.run([*run, "--entrypoint=python", tag, "-m", "pip"], capture_output=True, check=False, timeout=60)
    assert b"No module named pip" in pip.stderr
    inspect = ["docker", "inspect", "--format", "{{json .Config}}", tag]
    config = json.loads(subprocess.run(inspect, capture_output=True, check=True, timeout=60).stdout)
    assert config["User"] == named(LAST, "USER")[0]
    assert config["Labels"]["org.opencontainers.image.version"] == "test"
    assert config["Healthcheck"]["Test"][0] == "CMD"
