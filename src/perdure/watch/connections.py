"""Connections of the live page: one that says nothing is closed, and one visitor has so many at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["limited"]


def limited(at_once: int, seconds: float) -> type[H11Protocol]:
    """Uvicorn's protocol, of which a visitor has `at_once`, and which waits `seconds` for the head of a request.

    Uvicorn by itself closes what is idle between requests, and waits forever for the first, or for the rest of one.
    """
    held: Counter[str] = Counter()

    class Limited(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.waiting: asyncio.TimerHandle | None = None
            self.visitor = self.client[0] if self.client else ""
            held[self.visitor] += 1
            if held[self.visitor] > at_once:
                transport.abort()
            else:
                self.await_head()

        def connection_lost(self, exc: Exception | None) -> None:
            held[self.visitor] -= 1
            self.heard()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is h11.IDLE:
                self.await_head()  # a head that comes byte by byte does not begin its time anew
            else:
                self.heard()

        def await_head(self) -> None:
            self.waiting = self.waiting or self.loop.call_later(seconds, self.transport.abort)

        def heard(self) -> None:
            if self.waiting:
                self.waiting.cancel()
            self.waiting = None

    found: Any = Limited
    return found  # type: ignore[no-any-return]
