"""The connections that all threads share. Imported only together with litellm.

httpx looks through its whole pool at each request: with 64 calls in flight that costs as much
as the rest of the exchange. So each connection is a pool of its own, taken from a stack by one
request and put back when its answer has been read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from urllib.request import getproxies

import httpx

# by default httpx opens 100 connections and keeps 20: too few for many threads
_WIDE = httpx.Limits(max_connections=None, max_keepalive_connections=64)
# one for each server: a study may call several
_NARROW = httpx.Limits(max_connections=None, max_keepalive_connections=4)


class Stack(httpx.BaseTransport):
    """As many connections as there are requests at once, the last used one first."""

    def __init__(self) -> None:
        self._certificates = httpx.create_ssl_context()
        self._idle: deque[httpx.HTTPTransport] = deque()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        transport = self._take()
        try:
            response = transport.handle_request(request)
        except BaseException:
            self._idle.append(transport)
            raise
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = _Returning(response.stream, transport, self._idle)
        return response

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> httpx.HTTPTransport:
        try:
            return self._idle.pop()
        except IndexError:  # all are at work
            return httpx.HTTPTransport(verify=self._certificates, limits=_NARROW)


class _Returning(httpx.SyncByteStream):
    """A body that gives its connection back when it is closed, once."""

    def __init__(
        self,
        body: httpx.SyncByteStream,
        transport: httpx.HTTPTransport,
        idle: deque[httpx.HTTPTransport],
    ) -> None:
        self._body, self._transport, self._idle = body, transport, idle
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self._body

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            self._body.close()
        finally:
            self._idle.append(self._transport)


def shared_client() -> httpx.Client:
    """The client for all calls; where a proxy is set, httpx's own, which knows about proxies."""
    if getproxies():
        return httpx.Client(limits=_WIDE, follow_redirects=True)
    return httpx.Client(transport=Stack(), follow_redirects=True)
