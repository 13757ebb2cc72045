"""Lighthouse, without a network, on the inspector's page: accessibility, best practices, speed."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestServer

from tests.support.browser import chromium
from tests.support.judging import NODE, node
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.inspector.host import inspector_app

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PROGRAM = NODE / "node_modules" / "lighthouse" / "cli" / "index.js"

OPTIONS = (
    *("--preset=desktop", "--only-categories=accessibility,best-practices,performance"),
    *("--output=json", "--quiet", "--no-enable-error-reporting"),
    "--chrome-flags=--headless=new --no-sandbox",
)

RUN_S = 120
"""It takes about ten seconds; a machine with much to do needs longer."""

WITHOUT_FLAW = ("accessibility", "best-practices")

LEAST_SPEED = 0.9
"""What Lighthouse calls good; it is 1.0 here, beside two busy processes, too."""

TRIES = 3
"""To be found fast, as whatever else the machine does can only make a page slower; and to be looked at: where a browser
has left out the beginning of its trace, Lighthouse asks to be run again."""


async def test_lighthouse_finds_no_flaw(tmp_path: Path) -> None:
    """Every audit that counts is passed, and the page is fast."""
    speeds = list[float]()
    for _ in range(TRIES):
        if not await judge(tmp_path / "report.json"):
            continue
        report = json.loads((tmp_path / "report.json").read_bytes())
        assert report.get("runtimeError") is None
        assert [flaw for category in WITHOUT_FLAW for flaw in found(report, category)] == []
        scores = {name: category["score"] for name, category in report["categories"].items()}
        assert [scores[name] for name in WITHOUT_FLAW] == [1, 1]
        speeds.append(scores["performance"])
        if speeds[-1] >= LEAST_SPEED:
            break
    assert speeds, "Lighthouse could not look at the page"
    assert speeds[-1] >= LEAST_SPEED, speeds


async def judge(path: Path) -> bool:
    """Lighthouse's report into a file: it exits before a pipe has taken more than fits into one. False: none."""
    async with TestServer(inspector_app(None, IdleConnections())) as server:
        process = await asyncio.create_subprocess_exec(
            *(node(), str(PROGRAM), f"http://127.0.0.1:{server.port}/inspect/", *OPTIONS, f"--output-path={path}"),
            env={**os.environ, "CHROME_PATH": chromium()},
        )
        try:
            async with asyncio.timeout(RUN_S):
                return await process.wait() == 0
        finally:
            if process.returncode is None:
                process.terminate()


def found(report: Any, category: str) -> list[tuple[str, Any]]:
    """The audits that count and are not passed, with what they are about."""
    audits = {each["id"]: report["audits"][each["id"]] for each in report["categories"][category]["auditRefs"]}
    return [
        (name, audit.get("details", {}).get("items"))
        for name, audit in audits.items()
        if audit["score"] not in (1, None)
    ]
