"""The server of the live page. It only reads, and answers only this machine unless a token is given."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from perdure.errors import MissingExtraError, PerdureError
from perdure.watch.monitor import Monitor
from perdure.watch.page import Page

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware.base import RequestResponseEndpoint
    from starlette.requests import Request
    from starlette.responses import Response


LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LONGEST_ADDRESS = 2048
_LARGEST_HEAD = 16_384
_POLL_S = 1.0

_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}


def _refusal(request: Request, token: str | None) -> tuple[int, str] | None:
    """Return status and reason for a request of a wrong size, host or token."""
    head_bytes = sum(len(name) + len(value) for name, value in request.headers.raw)
    if len(str(request.url)) > _LONGEST_ADDRESS or head_bytes > _LARGEST_HEAD:
        return 414, "the request is too long"
    if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
        return 413, "a request has no body here"
    if token is None:
        # Another site's name may resolve to this machine (DNS rebinding).
        host = request.headers.get("host", "").lower()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        return None if name in LOOPBACK else (421, "this server answers only to localhost")
    same = hmac.compare_digest(request.query_params.get("token", "").encode(), token.encode())
    return None if same else (403, "the token is missing or wrong")


def app(monitor: Monitor, *, token: str | None = None, poll_s: float = _POLL_S) -> Starlette:
    """Return the live page as an ASGI application that polls the monitor while it runs."""
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.base import BaseHTTPMiddleware
        from starlette.responses import HTMLResponse, PlainTextResponse, Response
        from starlette.routing import Route
    except ImportError as problem:
        raise MissingExtraError("starlette", "web", "the live page") from problem

    # One thread polls and renders, so that the two never run at the same time.
    worker = ThreadPoolExecutor(1, "perdure-watch")
    page = Page(monitor)

    async def run(work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(worker, work)

    async def guard(request: Request, answer: RequestResponseEndpoint) -> Response:
        refusal = _refusal(request, token)
        response = PlainTextResponse(f"{refusal[1]}\n", refusal[0]) if refusal else await answer(request)
        response.headers.update(_HEADERS)
        return response

    async def front(_: Request) -> Response:
        return HTMLResponse(await run(page.html))

    async def state(request: Request) -> Response:
        since = request.query_params.get("since", "-1")
        known = int(since) if since.lstrip("-").isdigit() and len(since) < 18 else -1
        facts = await run(partial(page.state, since=known, of=request.query_params.get("of")))
        return Response(msgspec.json.encode(facts), media_type="application/json")

    async def report(_: Request) -> Response:
        return Response(msgspec.json.encode(await run(page.report)), media_type="application/json")

    async def keep_polling() -> None:
        while True:
            with contextlib.suppress(Exception):  # the next poll may succeed
                await run(monitor.poll)
            await asyncio.sleep(poll_s)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(keep_polling())
        yield
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        worker.shutdown(cancel_futures=True)

    routes = [Route("/", front), Route("/state", state), Route("/report", report)]
    return Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(BaseHTTPMiddleware, guard)])


def config(application: Starlette, connections: int = 64) -> uvicorn.Config:
    """Return the server's settings; a browser opens up to six connections."""
    import uvicorn

    return uvicorn.Config(
        application,
        log_level="warning",
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=_LARGEST_HEAD,
        http="h11",
        ws="none",
        limit_concurrency=connections,
        timeout_graceful_shutdown=2,
    )


def serve(
    monitor: Monitor,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    started: Callable[[str], None] | None = None,
) -> None:
    """Serve until interrupted. Raise PerdureError if another host than this machine has no token of 16 characters."""
    try:
        import uvicorn
    except ImportError as problem:
        raise MissingExtraError("uvicorn", "web", "the live page") from problem

    if host not in LOOPBACK and len(token or "") < 16:
        raise PerdureError(f"--host {host} opens the page to others", "give --token with 16 characters or more")
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # before the address is printed, so that its reader can connect
    except OSError as problem:
        listening.close()
        raise PerdureError(
            f"port {port} of {host} cannot be used ({problem.strerror})", "choose another: --port 0 finds a free one"
        ) from problem
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listening.getsockname()[1]}/" + (f"?token={token}" if token else "")
    if started:
        started(address)
    uvicorn.Server(config(app(monitor, token=token))).run(sockets=[listening])
