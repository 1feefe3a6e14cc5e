"""A container as a process: in namespaces of its own, below a root of its own, as its user and without rights.

Its image is what this machine has: the system's ``/usr``, this Python with its packages, and a folder with Shoal's
code. Limits of CPU and memory are not kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.workers import children_of
from tests.helm.manifests import Object
from tests.kubernetes.kubelet.environment import expanded
from tests.paths import ROOT

__all__ = ["PACKAGES", "Process", "Sandbox", "image_folder"]

PACKAGES = ("core", "stream")
"""Folders of the code of an image."""

_ENTRY_POINT = (sys.executable, "-m", "stream.cli.main")
"""``shoal``, as the image has it."""

_USER = 10001
"""The image's user."""

_IMAGE_VARIABLES = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONPATH": str(ROOT),
    "PYTHONUNBUFFERED": "1",
}
_DEVICES = ("null", "zero", "full", "random", "urandom")
_KILLED = 128 + signal.SIGKILL


def image_folder(images: Path, image: str) -> Path:
    """Return where the code of an image is, if it is one of Shoal's: a folder or a link to one."""
    return images / image.replace("/", "_")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What all containers of a Pod share."""

    network: str
    """Name of the network namespace."""

    folder: Path
    """Of the Pod."""

    hosts: str
    """Content of ``/etc/hosts``."""

    logs: Path
    """Folder of what the containers write."""


@dataclass(slots=True)
class Process:
    """One run of a container.

    Args:
        spec: The container of the Pod's ``spec``.
        pod: The Pod.
        code: The folder of its image.
        sandbox: The Pod's.
        variables: Those that the Pod names.
    """

    spec: Object
    pod: Object
    code: Path
    sandbox: Sandbox
    variables: Mapping[str, str] = field(repr=False)
    _process: asyncio.subprocess.Process | None = None
    _is_killed: bool = False

    async def start(self) -> None:
        """Start it."""
        script = self.sandbox.folder / f"{self.spec['name']}.sh"
        script.write_text("set -e\n" + "".join(f"{line}\n" for line in self._lines()))
        # Whatever ends this process ends all of them: the first in its PID namespace takes the others along.
        command = [_tool("setpriv"), "--pdeathsig=KILL", _tool("nsenter"), f"--net=/run/netns/{self.sandbox.network}"]
        command += [_tool("unshare"), "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]
        self.sandbox.logs.mkdir(parents=True, exist_ok=True)
        with (self.sandbox.logs / f"{self.spec['name']}.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(*command, "/bin/sh", str(script)),
                env={**_IMAGE_VARIABLES, "HOSTNAME": self.pod["metadata"]["name"], **self.variables},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )

    def _lines(self) -> Iterator[str]:
        """Yield the lines of a script that makes the root and becomes the container's command."""
        root = self.sandbox.folder / f"{self.spec['name']}.root"
        root.mkdir(exist_ok=True)
        yield f"mount -t tmpfs -o mode=755 root {root}"
        yield f"cd {root}"
        yield "mkdir -p proc dev etc run tmp && chmod 1777 tmp"
        for link in ("bin", "sbin", "lib", "lib64"):
            if (path := Path("/") / link).is_symlink():
                yield f"ln -s {os.readlink(path)} {link}"
        for shown in ("/usr", "/etc/ssl", "/etc/ld.so.cache", sys.base_prefix, sys.prefix):
            yield from _bound(Path(shown), shown)
        for package in PACKAGES:
            yield from _bound(self.code / package, str(ROOT / package))
        yield "mount -t proc proc proc"
        for device in _DEVICES:
            yield f"touch dev/{device} && mount --bind /dev/{device} dev/{device}"
        yield "mkdir dev/shm && mount -t tmpfs -o mode=1777,size=64m shm dev/shm"
        yield f"printf %s {shlex.quote(self.sandbox.hosts)} > etc/hosts"
        yield f"hostname {self.pod['metadata']['name']}"
        for mount in self.spec.get("volumeMounts", ()):
            source = self.sandbox.folder / "volumes" / mount["name"] / mount.get("subPath", "")
            yield from _bound(source.resolve(), mount["mountPath"], is_read_only=bool(mount.get("readOnly")))
        security = self._security()
        if security.get("readOnlyRootFilesystem"):
            yield f"cd / && mount -o remount,ro {root}"
        user = security.get("runAsUser", _USER)
        group = security.get("runAsGroup", user)
        groups = ",".join(str(one) for one in {group, security.get("fsGroup", group)})
        privileges = f"--reuid={user} --regid={group} --groups={groups} --inh-caps=-all --bounding-set=-all"
        command = shlex.join(self._command())
        yield f"exec {_tool('chroot')} {root} setpriv {privileges} --no-new-privs --pdeathsig=KILL {command}"

    def _security(self) -> Object:
        return {**(self.pod["spec"].get("securityContext") or {}), **(self.spec.get("securityContext") or {})}

    def _command(self) -> list[str]:
        command = self.spec.get("command") or list(_ENTRY_POINT)
        return [expanded(part, self.variables) for part in (*command, *self.spec.get("args", ()))]

    async def wait(self) -> int:
        """Wait for its end; return its exit code, as a container runtime reports it."""
        assert self._process is not None
        code = await self._process.wait()
        return _KILLED if self._is_killed and code != 0 else code  # what runs it says 1 for every signal

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its first process."""
        for pid in self._first():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _first(self) -> list[int]:
        """Return the first process in its PID namespace, if it has begun."""
        assert self._process is not None
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
            return [int(pid) for pid in children.split()[:1]]
        return []

    async def run(self, command: list[str], within_s: float) -> bool:
        """Run a command inside, as a probe does; return whether it ended with 0 in time."""
        for pid in self._first():
            done = await asyncio.create_subprocess_exec(
                *(_tool("nsenter"), f"--target={pid}", "--mount", "--net", "--pid", "--root", "--wd", "--", *command),
                env={**_IMAGE_VARIABLES, **self.variables},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            try:
                return await asyncio.wait_for(done.wait(), within_s) == 0
            except TimeoutError:
                done.kill()
        return False

    def kill(self) -> None:
        """End it and all that it has started, at once."""
        if self._process is not None and self._process.returncode is None:
            self._is_killed = True
            for pid in (*children_of(self._process.pid), self._process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _bound(source: Path, target: str, *, is_read_only: bool = True) -> Iterator[str]:
    """Yield lines that show a file or a folder of the machine below the root."""
    below, source_ = shlex.quote(target.lstrip("/")), shlex.quote(str(source))
    parent = shlex.quote(str(Path(target).parent).lstrip("/") or ".")
    if source.is_dir():
        yield f"mkdir -p {below}"
    else:
        yield f"mkdir -p {parent} && touch {below}"
    yield f"mount --bind {'-o ro ' if is_read_only else ''}{source_} {below}"


def _tool(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        raise FileNotFoundError(f"{name} is missing: install util-linux")
    return found
