"""The connections that all threads share. Imported only together with litellm.

httpx looks through its whole pool at each request: with 200 calls in flight that costs more
than the rest of the call. So requests take turns over several small pools.
"""

from __future__ import annotations

import itertools
from urllib.request import getproxies

import httpx

POOLS = 16
# by default httpx opens 100 connections and keeps 20: too few for many threads
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=64)


class Spread(httpx.BaseTransport):
    """Several pools used in turn, behind one transport."""

    def __init__(self) -> None:
        certificates = httpx.create_ssl_context()
        self._pools = [
            httpx.HTTPTransport(verify=certificates, limits=_LIMITS) for _ in range(POOLS)
        ]
        self._turn = itertools.count()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._pools[next(self._turn) % POOLS].handle_request(request)

    def close(self) -> None:
        for pool in self._pools:
            pool.close()


def shared_client() -> httpx.Client:
    """The client for all calls; where a proxy is set, httpx's own, which knows about proxies."""
    if getproxies():
        return httpx.Client(limits=_LIMITS, follow_redirects=True)
    return httpx.Client(transport=Spread(), follow_redirects=True)
