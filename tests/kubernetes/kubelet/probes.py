"""Probes of a container: one try, and the count of successes and failures in a row."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp

from tests.helm.manifests import Object

__all__ = ["Probe", "act"]

Run = Callable[[list[str], float], Awaitable[bool]]
"""Runs a command in the container, within seconds."""


async def act(action: Object, container: Object, pod_ip: str, run: Run, *, within_s: float) -> bool:
    """Do what a probe or a lifecycle hook says; return whether it succeeded.

    Args:
        action: With ``httpGet``, ``tcpSocket``, ``exec`` or ``sleep``.
        container: Knows ports by their names.
        pod_ip: Where it listens.
        run: Runs commands.
        within_s: For how long.
    """
    if "exec" in action:
        return await run(action["exec"]["command"], within_s)
    if "sleep" in action:
        await asyncio.sleep(action["sleep"]["seconds"])
        return True
    try:
        async with asyncio.timeout(within_s):
            if "tcpSocket" in action:
                _, writer = await asyncio.open_connection(pod_ip, _port(action["tcpSocket"]["port"], container))
                writer.close()
                return True
            wanted = action["httpGet"]
            address = f"{wanted.get('host', pod_ip)}:{_port(wanted['port'], container)}"
            url = f"{wanted.get('scheme', 'HTTP').lower()}://{address}{wanted.get('path', '/')}"
            headers = {one["name"]: one["value"] for one in wanted.get("httpHeaders", ())}
            async with aiohttp.ClientSession() as session, session.get(url, headers=headers, ssl=False) as answer:
                return 200 <= answer.status < 400
    except (OSError, TimeoutError, aiohttp.ClientError):
        return False


def _port(port: int | str, container: Object) -> int:
    if isinstance(port, int):
        return port
    return next(int(one["containerPort"]) for one in container.get("ports", ()) if one.get("name") == port)


@dataclass(slots=True)
class Probe:
    """A probe and what its last tries were."""

    spec: Object
    in_a_row: int = 0
    """Successes since the last failure, or failures since the last success as a negative number."""

    def count(self, *, success: bool) -> bool | None:
        """Count a try; return whether the container now passes, None if it is not decided."""
        self.in_a_row = max(self.in_a_row, 0) + 1 if success else min(self.in_a_row, 0) - 1
        if self.in_a_row >= self.spec.get("successThreshold", 1):
            return True
        return False if -self.in_a_row >= self.spec.get("failureThreshold", 3) else None

    @property
    def period_s(self) -> float:
        """Seconds between two tries."""
        return float(self.spec.get("periodSeconds", 10))

    @property
    def within_s(self) -> float:
        """Seconds for one try."""
        return float(self.spec.get("timeoutSeconds", 1))
