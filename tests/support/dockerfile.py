"""Our Dockerfile as data, and what can be done with it where no Docker daemon answers.

It knows the instructions that our file uses, not the whole language: hadolint says whether the file is one at all.
"""

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.structure.tree import CHECKOUT

DOCKERFILE = CHECKOUT / "deploy" / "Dockerfile"

WHEELS = CHECKOUT / "build" / "wheels"
"""Packages of the lock files. To look each of them up on the index takes five times as long as to install it."""

INSTALL_S = 1_200
"""For the packages of the lock file, on a busy machine."""


class Instruction(NamedTuple):
    """`RUN`, and what stands behind it on one line."""

    name: str
    value: str

    @property
    def command(self) -> list[str]:
        """Of an instruction in its JSON form: program and arguments."""
        words = json.loads(self.value.removeprefix("CMD ") if self.name == "CMD" else self.value)
        assert isinstance(words, list)
        return words


def stages(text: str) -> list[list[Instruction]]:
    """The instructions of each stage; what stands before the first `FROM` is none's."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", "")
    found: list[list[Instruction]] = []
    for line in filter(str.strip, joined.splitlines()):
        name, _, value = line.partition(" ")
        if name == "FROM":
            found.append([])
        if found:
            found[-1].append(Instruction(name, value.strip()))
    return found


def named(stage: Sequence[Instruction], name: str) -> list[str]:
    """The values of all instructions of a name."""
    return [instruction.value for instruction in stage if instruction.name == name]


def pairs(value: str) -> dict[str, str]:
    """What an `ENV` or a `LABEL` sets."""
    return {key: quoted or bare for key, quoted, bare in re.findall(r'([\w.]+)=(?:"([^"]*)"|(\S+))', value)}


def build(stage: Sequence[Instruction], root: Path, python: Path, **arguments: str) -> None:
    """Do what a stage says, with `root` in the place of `/`: its directories, files and commands.

    `python` is a folder with the program of that name, in place of the base image. Copied is what git would give: files
    that are tracked or not ignored. `arguments` are those of the build. Packages come from `WHEELS`, and pip compares
    them with the lock's hashes as it does with those of the index. Raises if a command fails.
    """
    variables: dict[str, str] = {}
    packages = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(WHEELS)}
    environ = {"PATH": f"{python}:/usr/bin:/bin", "HOME": str(root), **packages}
    folder = root
    for name, value in stage:
        if name == "WORKDIR":
            folder = root / value.lstrip("/")
            folder.mkdir(parents=True)
        elif name == "COPY":
            *sources, target = _filled_in(value, variables).split()
            for source in sources:
                _copy(source, folder / target)
        elif name == "RUN":
            _run(_inside(value, root), folder, environ | variables)
        elif name == "ARG":
            variables |= pairs(value) | {key: arguments[key] for key in pairs(value).keys() & arguments.keys()}
        elif name == "ENV":
            variables |= {key: _filled_in(text, variables) for key, text in pairs(value).items()}
        else:
            assert name == "FROM", f"{name} is not known here"


def fetch(locks: Sequence[str], python: Path) -> None:
    """Have the packages of lock files in `WHEELS`, for the interpreter in the folder `python`, as the index has them.

    What is there is not asked for again until a lock file changes.
    """
    texts = [(CHECKOUT / lock).read_bytes() for lock in locks]
    version = subprocess.run([python / "python", "--version"], capture_output=True, check=True).stdout
    done = WHEELS / f".{hashlib.sha256(b''.join((version, *texts))).hexdigest()}"
    if done.exists():
        return
    by_hash = ["--no-deps", "--require-hashes", "--only-binary=:all:"]
    files = [f"--requirement={lock}" for lock in locks]
    pip = [sys.executable, "-m", "pip", f"--python={python / 'python'}"]
    subprocess.run(
        [*pip, "download", *by_hash, *files, f"--dest={WHEELS}"], cwd=CHECKOUT, check=True, timeout=INSTALL_S
    )
    done.touch()


def _copy(source: str, target: Path) -> None:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", source]
    listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout.split()
    assert listed, f"nothing to copy: {source}"
    for path in listed:
        below = path.removeprefix(source).lstrip("/")
        place = target / (below or Path(path).name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((CHECKOUT / path).read_bytes())


def _inside(command: str, root: Path) -> str:
    """Absolute paths of the image as paths below `root`."""
    return re.sub(r"(?<![\w.*-])/(?=build\b|opt\b|wheel\b|src\b)", f"{root}/", command)


def _filled_in(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda match: variables[match[1]], text)


def _run(command: str, folder: Path, environ: Mapping[str, str]) -> None:
    run = subprocess.run(
        ["sh", "-ec", command],
        cwd=folder,
        env=dict(environ),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=INSTALL_S,
        check=False,
    )
    assert run.returncode == 0, f"{command}\n{run.stdout[-4_000:]}"
