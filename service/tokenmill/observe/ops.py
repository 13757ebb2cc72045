"""The endpoints of a process for its operators and their machines."""

from collections.abc import Awaitable, Callable, Iterable

from aiohttp import web
from aiohttp.typedefs import Middleware


def ops_app(
    metrics: Callable[[], bytes], readiness: Callable[[], tuple[bool, str]], middlewares: Iterable[Middleware] = ()
) -> web.Application:
    """`/metrics`, `/healthz` and `/readyz`, as in the worker. `readiness` returns whether it is ready, and why."""

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
