"""The few requests of a kubelet to the API server."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

import aiohttp
import yaml

from tests.helm.manifests import Object

__all__ = ["Api", "ApiError"]

_RETRIES, _RETRY_S = 5, 1.0
_LONGEST_LINE = 16 * 1024**2
"""An object with its managed fields, on one line."""


class ApiError(RuntimeError):
    """The API server refuses a request."""


class Api:
    """A connection for as long as an ``async with`` block.

    Args:
        kubeconfig: With a token.
    """

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        self._server: str = config["clusters"][0]["cluster"]["server"]
        self._headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(ssl=False, limit=0)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
        self._session = aiohttp.ClientSession(
            headers=self._headers, connector=connector, timeout=timeout, read_bufsize=_LONGEST_LINE
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def get(self, path: str) -> Object | None:
        """Return an object or a list, None if there is none."""
        return await self._request("GET", path)

    async def create(self, path: str, body: Object) -> Object | None:
        """Create an object, or do nothing if it exists; return what was created."""
        return await self._request("POST", path, body)

    async def patch(self, path: str, body: Object) -> Object | None:
        """Merge into an object, lists by their keys; return None if it does not exist any more."""
        return await self._request("PATCH", path, body, "application/strategic-merge-patch+json")

    async def delete(self, path: str, body: Object) -> None:
        """Delete an object, if it exists."""
        await self._request("DELETE", path, body)

    async def _request(
        self, verb: str, path: str, body: Object | None = None, content: str = "application/json"
    ) -> Object | None:
        for _ in range(_RETRIES):
            with contextlib.suppress(aiohttp.ClientConnectionError):
                return await self._try(verb, path, body, content)
            await asyncio.sleep(_RETRY_S)
        return await self._try(verb, path, body, content)

    async def _try(self, verb: str, path: str, body: Object | None, content: str) -> Object | None:
        data = None if body is None else json.dumps(body)
        async with self._session.request(
            verb, self._server + path, data=data, headers={"Content-Type": content}
        ) as answer:
            if answer.status in (404, 409):
                return None
            if answer.status >= 400:
                raise ApiError(f"{verb} {path}: {answer.status} {(await answer.text())[:500]}")
            found: Object = await answer.json()
            return found

    async def watch(self, path: str) -> AsyncIterator[tuple[str, Object]]:
        """Yield what is there, as ``ADDED``, and then each change; ends when the server ends it."""
        listed = await self.get(path) or {"items": [], "metadata": {"resourceVersion": "0"}}
        for one in listed["items"]:
            yield "ADDED", one
        version = listed["metadata"]["resourceVersion"]
        url = f"{self._server}{path}?watch=true&resourceVersion={version}"
        async with self._session.get(url) as answer:
            async for line in answer.content:
                event: dict[str, Any] = json.loads(line)
                if event["type"] == "ERROR":
                    return
                yield event["type"], event["object"]
