"""What new users do first, in environments that have nothing but the wheel and what an extra brings.

1. An environment is made with an interpreter of each supported version, from the wheel that this checkout builds.
   Nothing of the checkout is on the path, and no package that only the tests need is there.
2. Who embeds the parser installs the library alone; who has a model server, `demo`; who is on call, `worker`. Each runs
   with one version; `TOKENMILL_NEWCOMERS=all` runs each with all.
"""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.structure.pages import blocks
from tests.structure.tree import CHECKOUT
from tests.support.prerequisites import PYTHONS, found_python
from tests.support.stage import until
from tokenmill.servers.process import free_port

EACH_WITH_ALL = os.environ.get("TOKENMILL_NEWCOMERS") == "all"

LIBRARY_MIB, LIBRARY_PACKAGES = 25, 5
IMPORT_STARTS = 12
"""Processor time of `import tokenmill` in starts of an interpreter: 0.15 s where one takes 12.5 ms."""

TIMED = 8
"""Starts of which the quickest counts: others use the machine, too."""

RUNNING_S = 120
INSTALLING_S = 600
"""An extra's packages are fetched, and one of them may have to be compiled for a version that has no wheel of it."""

CLEAN = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}

pytestmark = [pytest.mark.integration, pytest.mark.slow]


class Home:
    """An environment, and a folder to work in."""

    def __init__(self, folder: Path, interpreter: str) -> None:
        self.folder, self.bin = folder, folder / "env" / "bin"
        self.run(interpreter, "-m", "venv", "--without-pip", str(folder / "env"))

    def install(self, what: str) -> None:
        """As uv does, or, where there is none or where it can't, pip: that takes ten times as long."""
        place = ("--python", str(self.bin / "python"))
        uv = [
            str(Path(sys.executable).with_name("uv")),
            "pip",
            "install",
            "--quiet",
            "--compile-bytecode",
            *place,
            what,
        ]
        try:
            subprocess.run(uv, cwd=self.folder, env=CLEAN, check=True, timeout=INSTALLING_S)
        except (OSError, subprocess.CalledProcessError):
            pip = (sys.executable, "-m", "pip", *place)
            self.run(*pip, "install", "--quiet", "--disable-pip-version-check", what)

    def run(self, *command: str | Path, code: int = 0, given: str = "") -> str:
        """What a command prints; where it is to fail, what it complains of."""
        done = subprocess.run(
            command,
            input=given,
            cwd=self.folder,
            env=CLEAN,
            capture_output=True,
            text=True,
            timeout=INSTALLING_S,
            check=False,
        )
        assert done.returncode == code, f"{command}: {done.stdout} {done.stderr}"
        return done.stderr if code else done.stdout

    def tokenmill(self, *arguments: str, code: int = 0, given: str = "") -> str:
        return self.run(self.bin / "tokenmill", *arguments, code=code, given=given)

    @contextmanager
    def running(self, *command: str | Path) -> Iterator[Path]:
        """A process until the end of the block, and the file that it writes to; it has to end in order."""
        log = self.folder / f"{len(list(self.folder.iterdir()))}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(command, cwd=self.folder, env=CLEAN, stdout=file, stderr=subprocess.STDOUT)
        try:
            yield log
        finally:
            process.terminate()
            code = process.wait(RUNNING_S)
        assert code in (0, 143), log.read_text()


def interpreter(version: str) -> str:
    """Where the interpreter of a version is; without it a test is skipped, in CI it fails."""
    if not (path := found_python(version)):
        assert "CI" not in os.environ, f"CI needs Python {version}"
        pytest.skip(f"no Python {version} here")
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=CHECKOUT, check=True, capture_output=True, timeout=RUNNING_S)
    return next(folder.glob("*.whl"))


def which(own: str) -> list[str]:
    return list(PYTHONS) if EACH_WITH_ALL else [own]


@pytest.mark.parametrize("version", PYTHONS)
def test_who_embeds_the_parser_has_a_small_library(version: str, wheel: Path, tmp_path: Path, request: Any) -> None:
    """Few packages, imported at once, run what the README shows; all else says what it needs."""
    home = Home(tmp_path, interpreter(version))
    before = sizes(home)
    home.install(str(wheel))
    installed = {name: size for name, size in sizes(home).items() if name not in before}
    mib = sum(installed.values()) / 1024**2
    packages = [name for name in installed if name.endswith(".dist-info")]
    start = starting(home, "pass")
    seconds = starting(home, "import tokenmill") - start
    said = f"{len(packages)} packages, {mib:.1f} MiB, imported in {seconds:.3f} s, or {seconds / start:.1f} starts"
    request.node.user_properties.append(("report", said))
    assert len(packages) <= LIBRARY_PACKAGES
    assert mib <= LIBRARY_MIB
    assert seconds / start <= IMPORT_STARTS
    example = next(block.text for block in blocks("pycon") if block.page == CHECKOUT / "README.md")
    (tmp_path / "readme.txt").write_text(example)
    home.run(home.bin / "python", "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "readme.txt")
    assert "pip install 'tokenmill[cli]'" in home.tokenmill("parse", code=1)
    assert "pip install 'tokenmill[client]'" in home.run(home.bin / "python", "-c", "import tokenmill.client", code=1)
    home.install(f"{wheel}[cli]")
    assert '"type":"finish"' in home.tokenmill("parse", given="Hello")
    assert "pip install 'tokenmill[worker]'" in home.tokenmill("worker", code=1)


def sizes(home: Home) -> dict[str, int]:
    """Bytes of each package in an environment, compiled code included."""
    packages = next((home.folder / "env" / "lib").glob("python*/site-packages"))
    return {
        entry.name: sum(path.stat().st_size for path in (entry, *entry.rglob("*")) if path.is_file())
        for entry in packages.iterdir()
    }


def starting(home: Home, program: str) -> float:
    """Seconds of a processor that an interpreter takes for a program."""
    timed = f"import time\n{program}\nprint(time.process_time())"
    return min(float(home.run(home.bin / "python", "-c", timed)) for _ in range(TIMED))


@pytest.mark.parametrize("version", which("3.11"))
async def test_who_has_a_model_server_asks_it_through_the_front(version: str, wheel: Path, tmp_path: Path) -> None:
    """One command starts all that is needed; what the model wrote comes back as a call."""
    home = Home(tmp_path, interpreter(version))
    home.install(f"{wheel}[demo]")
    model, front, gateway, worker = (free_port() for _ in range(4))
    (tmp_path / "front.toml").write_text(f"""
        [front]
        port = {front}
        ops_port = 0
        [gateway]
        port = {gateway}
        ops_port = 0
        [worker]
        port = {worker}
        [[upstreams]]
        models = ["qwen"]
        kind = "vllm"
        urls = ["http://127.0.0.1:{model}"]
        model = "hermes"
        format = "hermes"
    """)
    with (
        home.running(home.bin / "python", "-m", "tokenmill.demo.model_server", str(model)),
        home.running(home.bin / "tokenmill", "front", "--embedded", "--config", "front.toml") as log,
    ):
        await until(lambda: "Ctrl-C" in log.read_text(), "the front says how it ends", RUNNING_S)
        said = asked(f"http://127.0.0.1:{front}/v1/chat/completions")
    call = said["choices"][0]["message"]["tool_calls"][0]["function"]
    assert (call["name"], json.loads(call["arguments"])) == ("get_weather", {"city": "Paris", "days": 3})


def asked(url: str) -> Any:
    body = {
        "model": "qwen",
        "messages": [{"role": "user", "content": "What will the weather be like?"}],
        "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}],
    }
    request = Request(url, json.dumps(body).encode(), {"content-type": "application/json"})  # noqa: S310 -- of this test
    with urlopen(request, timeout=RUNNING_S) as answer:  # noqa: S310 -- of this test
        return json.loads(answer.read())


@pytest.mark.parametrize("version", which("3.13"))
async def test_who_is_on_call_sees_what_is_wrong(
    version: str, wheel: Path, tmp_path: Path, kafka: str, redis_url: str, unique: str
) -> None:
    """Settings are checked, topics made, and a record that is none is found by its code."""
    home = Home(tmp_path, interpreter(version))
    home.install(f"{wheel}[worker]")
    (tmp_path / "tokenmill.toml").write_text(f"""
        [kafka]
        bootstrap_servers = "{kafka}"
        group_id = "{unique}"
        [topics]
        tokens = "{unique}-tokens"
        events = "{unique}-events"
        tool_calls = "{unique}-calls"
        dlq = "{unique}-dlq"
        [redis]
        url = "{redis_url}"
        [worker]
        port = {free_port()}
    """)
    config = ("--config", "tokenmill.toml")
    assert tomllib.loads(home.tokenmill("config", "check", "--show", *config))["kafka"]["group_id"] == unique
    home.tokenmill("topics", "create", *config)
    with home.running(home.bin / "tokenmill", "worker", *config):
        home.tokenmill("publish", "--conversation", "c", "--codec", "openai", *config, given="nonsense")
        home.tokenmill("publish", "--conversation", "c", *config, given="Hello")
        until_finish = ("tail", "c", "--from-beginning", "--until-finish", "--timeout", str(RUNNING_S))
        assert "Hello" in text_of(home.tokenmill(*until_finish, *config))
    assert home.tokenmill("dlq", "list", "--by", "code", *config).split()[-2:] == ["undecodable", "1"]
    assert "partition" in home.tokenmill("recover", *config)


def text_of(lines: str) -> str:
    return "".join(json.loads(line).get("delta", "") for line in lines.splitlines())
