"""Durable Streams' own conformance suite, its groups about reading, against a gateway behind a double that writes."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.support.durable_double import doubled
from tests.support.gateways import admission, listening
from tests.support.judging import run_vitest
from tokenmill.gateway.routes.durable_streams import DurableStreamRoutes

pytestmark = pytest.mark.integration

PROPERTIES = "Property-Based Tests (fast-check)"

GROUPS = (
    "Read Operations",
    "Long-Poll Operations",
    "Long-Poll Edge Cases",
    "Browser Security Headers",
    "Offset Validation and Resumability",
    "Caching and ETag",
    "Chunking and Large Payloads",
    "Read-Your-Writes Consistency",
    "SSE Mode",
    "JSON Mode",
    "Idempotent Producer Operations",
    f"{PROPERTIES} Byte-Exactness Property",
    f"{PROPERTIES} Immutability Properties",
    f"{PROPERTIES} Offset Validation Properties",
    f"{PROPERTIES} State Hash Verification",
    "Stream Closure Read Closed Streams (Catch-up)",
    "Stream Closure Long-poll with Stream Closure",
    "Stream Closure SSE with Stream Closure",
)

HEAD = "the head's offset is another name of the place behind the last frame: who reads on from either reads the same"
JSON_ONLY = "events are JSON, and are not sent in another encoding"
WRITES = "about writing, which the double does"

_OFFSETS = "Offset Validation and Resumability should"
_SSE = "SSE Mode should"

NOT_OFFERED = {
    f"{_OFFSETS} return correct tail offset for offset=now": HEAD,
    f"{_OFFSETS} support offset=now with long-poll mode (waits for data)": HEAD,
    f"{_OFFSETS} support offset=now with SSE mode": HEAD,
    "SSE Mode base64 SSE catch-up pairs every data event with a control event": JSON_ONLY,
    f"{_SSE} auto-detect binary streams and return base64 encoded data in SSE mode": JSON_ONLY,
    f"{_SSE} include Stream-SSE-Data-Encoding header for binary streams": JSON_ONLY,
    f"{_SSE} handle large binary payload with auto-detected base64 encoding": JSON_ONLY,
    f"{_SSE} handle binary data with special bytes using auto-detected base64 encoding": JSON_ONLY,
    f"{_SSE} auto-detect base64 encoding for application/x-protobuf streams": JSON_ONLY,
    f"{_SSE} auto-detect base64 encoding for image/png streams": JSON_ONLY,
    "Idempotent Producer Operations should return 409 for content-type mismatch": WRITES,
}
"""Tests of these groups that a gateway does not pass, and why."""


async def test_a_gateway_reads_as_the_protocol_says(
    kafka: str, unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tests of the groups about reading, but for those that are named here."""
    monkeypatch.setattr("tokenmill.gateway.routes.durable_streams.POLL_S", 1.0)
    only = f"^({'|'.join(map(re.escape, GROUPS))}) "
    async with (
        listening(kafka, unique, lambda at: DurableStreamRoutes(at, admission()).routes(), origins=["*"]) as gate,
        doubled(gate) as url,
    ):
        run = asyncio.to_thread(
            run_vitest, "durable_conformance", only, tmp_path / "report.json", CONFORMANCE_TEST_URL=url
        )
        verdicts = await run
    failed = {each.name: each.message for each in verdicts if not each.passed}
    unexpected = {name: message for name, message in failed.items() if name not in NOT_OFFERED}
    assert unexpected == {}
    assert failed.keys() == NOT_OFFERED.keys()
    assert {group for each in verdicts for group in GROUPS if each.passed and each.name.startswith(group)} == set(
        GROUPS
    )
