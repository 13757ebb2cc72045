"""The pages that operators and their machines ask a process for."""

from collections.abc import Awaitable, Callable, Iterable

from aiohttp import web
from aiohttp.typedefs import Middleware


def ops_app(
    metrics: Callable[[], bytes], readiness: Callable[[], tuple[bool, str]], middlewares: Iterable[Middleware] = ()
) -> web.Application:
    """`/metrics`, `/healthz` and `/readyz`, as the worker has them. `readiness` says whether, and why."""

    async def _metrics(_request: web.Request) -> web.Response:
        return web.Response(body=metrics(), headers={"content-type": "text/plain; version=0.0.4; charset=utf-8"})

    async def _healthz(_request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(_request: web.Request) -> web.Response:
        ready, why = readiness()
        return web.Response(text=f"{why}\n", status=200 if ready else 503)

    app = web.Application(middlewares=list(middlewares))
    pages: dict[str, Callable[[web.Request], Awaitable[web.Response]]] = {
        "/metrics": _metrics,
        "/healthz": _healthz,
        "/readyz": _readyz,
    }
    for path, page in pages.items():
        app.router.add_get(path, page)
    return app
