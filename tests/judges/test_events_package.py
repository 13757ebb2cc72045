"""The package `tokenmill-events` as its users have it: packed, installed, compiled, run in Node and in a browser."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from tests.structure.tree import CHECKOUT
from tests.support.browser import browser_page, site
from tests.support.judging import NODE, node
from tokenmill import Parser
from tokenmill.formats import FORMATS

PACKAGE = CHECKOUT / "deploy" / "npm"

REPOSITORY = "git+https://forge.example.com/someone/tokenmill.git"

RUN_S = 120

READS = """
import { exactIntegers, parseEvent, isEvent, EVENT_TYPES, type EventOf } from "tokenmill-events";

export function calls(payloads: string[]): string[] {
  const found: string[] = [];
  for (const payload of payloads) {
    const event = parseEvent(payload, exactIntegers);
    if (event?.type === "tool-call") found.push(event.name, ...Object.keys(event.arguments));
    if (event?.type === "finish") found.push(event.reason, String(event.tokens?.input_tokens ?? 0));
  }
  return found;
}

const ended: EventOf<"finish"> = { type: "finish", reason: "stop" };
export const known: boolean = isEvent(ended) && EVENT_TYPES.includes(ended.type);
"""

MISREADS = (
    'import { parseEvent } from "tokenmill-events"; const event = parseEvent("{}"); console.log(event?.arguments);'
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the packed package is installed."""
    folder = tmp_path_factory.mktemp("home")
    node()  # or the test is left out
    npm = shutil.which("npm")
    assert npm is not None
    released = shutil.copytree(PACKAGE, folder / "released")
    run(released, npm, "pkg", "set", f"repository.url={REPOSITORY}")  # as the page on releases has it
    packed = run(released, npm, "pack", "--json", "--pack-destination", str(folder))
    (archive,) = folder.glob("*.tgz")
    assert {file["path"] for file in json.loads(packed)[0]["files"]} == {each.name for each in PACKAGE.iterdir()}
    (folder / "package.json").write_text('{"type": "module", "private": true}')
    run(folder, npm, "install", "--offline", "--no-audit", "--no-fund", str(archive))
    return folder


def run(folder: Path, *command: str, code: int = 0) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=RUN_S, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def compiled(home: Path, program: str, code: int = 0) -> str:
    """What TypeScript's compiler says of a program, at its strictest; the program's code is beside it."""
    (home / "program.ts").write_text(program)
    compiler = NODE / "node_modules" / "typescript" / "bin" / "tsc"
    options = ("--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "false")
    return run(home, node(), str(compiler), *options, "program.ts", code=code)


def payloads() -> list[str]:
    """All events of all samples, as they are on the topic."""
    events: list[Any] = []
    for format_ in FORMATS:
        parser = Parser(format_.name, identity=format_.name)
        events += [*parser.feed(format_.sample), *parser.finish("stop", {"prompt_tokens": 5, "completion_tokens": 7})]
    return [msgspec.json.encode(event).decode() for event in events]


def test_events_are_read_in_node(home: Path) -> None:
    """A union narrows by its type."""
    assert compiled(home, READS) == ""
    (home / "payloads.json").write_text(json.dumps([*payloads(), '{"type": "of-tomorrow"}']))
    reads = (
        'import { calls, known } from "./program.js"; import { readFileSync } from "node:fs";'
        'const found = calls(JSON.parse(readFileSync("payloads.json", "utf8")));'
        "console.log(JSON.stringify([known, found]));"
    )
    known, found = json.loads(run(home, node(), "--input-type=module", "--eval", reads))
    assert known
    assert found.count("5") == len(FORMATS)
    assert "get_weather" in found


def test_the_package_has_its_license_and_the_repository_of_its_release(home: Path) -> None:
    """The license asks for the one, npm for the other: it compares provenance with it."""
    installed = home / "node_modules" / "tokenmill-events"
    assert (installed / "LICENSE").read_bytes() == (CHECKOUT / "LICENSE").read_bytes()
    assert json.loads((installed / "package.json").read_text())["repository"] == {"url": REPOSITORY}


def test_a_field_that_not_every_event_has_is_refused(home: Path) -> None:
    """Before it is run."""
    assert "Property 'arguments' does not exist" in compiled(home, MISREADS, code=2)


async def in_a_page(names: str, expression: str, argument: object) -> Any:
    """What an expression of `it` is in a browser, which loads the module as it is."""

    async def module(_request: web.Request) -> web.Response:
        return web.Response(text=(PACKAGE / "index.js").read_text(), content_type="text/javascript")

    imports = f"const {{ {names} }} = await import('/index.js');"
    async with site({"/": "<!doctype html>"}, web.get("/index.js", module)) as port, browser_page() as page:
        await page.goto(f"http://127.0.0.1:{port}/")
        return await page.evaluate(f"async (it) => {{ {imports} return {expression}; }}", argument)


async def test_events_are_read_in_a_page() -> None:
    """Those that are none of this version are skipped."""
    types = await in_a_page(
        "parseEvent",
        "it.map((payload) => parseEvent(payload)?.type ?? null)",
        [*payloads(), '{"type": "of-tomorrow"}', "null"],
    )
    assert types == [*(json.loads(payload)["type"] for payload in payloads()), None, None]


async def test_long_integers_are_whole_where_the_engine_can() -> None:
    """As BigInts, for those who ask for them; all else is as without the reviver. Without a source they are rounded."""
    call = '{"type":"tool-call","id":"a","name":"f","arguments":{"id":-1234567890123456789,"n":[7,1.5,1e21,"12"]}}'
    shown = "(_, value) => typeof value === 'bigint' ? `${value}n` : value"
    revivers = "[exactIntegers, (key, value) => exactIntegers(key, value)]"
    found = await in_a_page(
        "parseEvent, exactIntegers",
        f"JSON.stringify({revivers}.map((reviver) => parseEvent(it, reviver).arguments), {shown})",
        call,
    )
    others = [7, 1.5, 1e21, "12"]
    assert json.loads(found) == [
        {"id": "-1234567890123456789n", "n": others},
        {"id": -1234567890123456800, "n": others},
    ]
