"""The report while it grows: a small server that only reads, and answers only this machine unless told otherwise."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import msgspec

from perdure.errors import MissingExtra, PerdureError
from perdure.watch.follow import Follower
from perdure.watch.page import page, state, written

if TYPE_CHECKING:
    import uvicorn
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["Guard", "app", "configured", "serve"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LONGEST_ADDRESS = 2048
_LARGEST_HEAD = 16_384
_POLL_S = 0.5

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class Guard:
    """What stands before the page: the wrong host, method, size or token never reaches it."""

    def __init__(self, inner: Application, *, token: str | None = None) -> None:
        self.inner = inner
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that may not pass; hand on one that may."""
        if scope["type"] == "http":
            refused = self._refused(scope)
            if refused:
                status, why = refused
                await _answer(send, status, why)
                return
        elif scope["type"] != "lifespan":
            return
        await self.inner(scope, receive, partial(_with_headers, send))

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        address = scope.get("raw_path", b"") + b"?" + scope.get("query_string", b"")
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "this page can only be read"
        if (
            len(address) > _LONGEST_ADDRESS
            or sum(len(name) + len(value) for name, value in scope["headers"]) > _LARGEST_HEAD
        ):
            return 414, "the request is too long"
        if headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers:
            return 413, "a request has no body here"
        if ".." in scope["path"] or "\\" in scope["path"] or b"%" in scope.get("raw_path", b""):
            return 404, "nothing here"
        if self.token is None:
            # Only names of this machine: another site's name that resolves here is a trick (DNS rebinding).
            name = _host_name(headers.get(b"host", b"").decode("latin-1"))
            return None if name in LOOPBACK else (421, "this server answers only to localhost")
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        return (
            None if hmac.compare_digest(given.encode(), self.token.encode()) else (403, "the token is missing or wrong")
        )


def _host_name(host: str) -> str:
    """The name without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


async def _answer(send: Send, status: int, why: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{why}\n".encode()})


_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


async def _with_headers(send: Send, message: MutableMapping[str, Any]) -> None:
    if message["type"] == "http.response.start":
        message["headers"] = [*message["headers"], *_HEADERS]
    await send(message)


def app(follower: Follower, *, token: str | None = None, poll_s: float = _POLL_S) -> Guard:
    """The live page as an ASGI application; it polls the follower while it runs."""
    try:
        from starlette.applications import Starlette
        from starlette.responses import HTMLResponse, Response
        from starlette.routing import Route
    except ImportError as problem:
        raise MissingExtra("starlette", "web", "the live page") from problem

    # One thread does all the work, so that polling and writing never meet, and memory comes from one place.
    worker = ThreadPoolExecutor(1, "perdure-watch")

    async def done(work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(worker, work)

    async def front(_: Request) -> Response:
        return HTMLResponse(await done(partial(page, follower)))

    async def now(request: Request) -> Response:
        since = request.query_params.get("since", "-1")
        known = int(since) if since.lstrip("-").isdigit() and len(since) < 18 else -1
        facts = await done(partial(state, follower, since=known, of=request.query_params.get("of")))
        return Response(msgspec.json.encode(facts), media_type="application/json")

    async def whole(_: Request) -> Response:
        facts = await done(partial(written, follower))
        return Response(msgspec.json.encode(facts), media_type="application/json")

    async def keep_polling() -> None:
        while True:
            with contextlib.suppress(Exception):  # what is wrong with one look may be right at the next
                await done(follower.poll)
            await asyncio.sleep(poll_s)

    @contextlib.asynccontextmanager
    async def living(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(keep_polling())
        yield
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        worker.shutdown(cancel_futures=True)

    routes = [Route("/", front), Route("/state", now), Route("/report", whole)]
    return Guard(Starlette(routes=routes, lifespan=living), token=token)


def configured(served: Application, at_once: int = 32, head_s: float = 10.0) -> uvicorn.Config:
    """The server's limits: so many connections of one visitor (a browser opens six), so long for a request's head."""
    import uvicorn

    from perdure.watch.connections import limited

    return uvicorn.Config(
        served,
        log_level="warning",
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=_LARGEST_HEAD,
        http=limited(at_once, head_s),
        ws="none",
        timeout_graceful_shutdown=2,
    )


def serve(
    follower: Follower,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    started: Callable[[str], None] | None = None,
) -> None:
    """Serve until interrupted. Another host than this machine's own needs a token of sixteen characters or more."""
    try:
        import uvicorn
    except ImportError as problem:
        raise MissingExtra("uvicorn", "web", "the live page") from problem

    if host not in LOOPBACK and len(token or "") < 16:
        raise PerdureError(f"--host {host} opens the page to others", "give --token with 16 characters or more")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # before the address is told, so that whoever is told can connect
    except OSError as problem:
        listening.close()
        raise PerdureError(
            f"port {port} of {host} cannot be used ({problem.strerror})", "choose another: --port 0 finds a free one"
        ) from problem
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listening.getsockname()[1]}/" + (f"?token={token}" if token else "")
    if started:
        started(address)
    uvicorn.Server(configured(app(follower, token=token))).run(sockets=[listening])
