"""The pages for operators."""

from aiohttp.test_utils import TestClient, TestServer

from tokenmill.observe.ops import ops_app


async def test_operators_are_answered() -> None:
    """Metrics, whether it lives, and whether there is work for it."""
    ready = True
    app = ops_app(lambda: b"a_metric 1\n", lambda: (ready, "ready" if ready else "draining"))
    async with TestClient(TestServer(app)) as client:
        pages = {path: await (await client.get(path)).text() for path in ("/metrics", "/healthz", "/readyz")}
        assert pages == {"/metrics": "a_metric 1\n", "/healthz": "ok\n", "/readyz": "ready\n"}
        ready = False
        answer = await client.get("/readyz")
        assert (answer.status, await answer.text()) == (503, "draining\n")
