"""The volumes of a Pod as folders: what is mounted is written as a kubelet writes it, and follows its ConfigMap."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.helm.manifests import Object
from tests.kubernetes.kubelet.environment import ConfigMissingError, Lookup, content

__all__ = ["Token", "write_volumes"]

Token = Callable[[str, int], Awaitable[str]]
"""Asks for a token of the Pod's service account, for an audience and a number of seconds."""

_DEFAULT_MODE = 0o644
_versions = itertools.count(1)


async def write_volumes(pod: Object, folder: Path, find: Lookup, token: Token) -> None:
    """Write every volume of a Pod into a folder of its name; a second call writes what has changed.

    Files of ConfigMaps and Secrets are links through ``..data``, which is replaced as a whole: a program that reads two
    of them sees both of one version. What is mounted by ``subPath`` stays what it was.

    Raises:
        ConfigMissingError: Something that a volume names does not exist, or the kind of volume is not known here.
    """
    group = (pod["spec"].get("securityContext") or {}).get("fsGroup")
    for volume in pod["spec"].get("volumes", ()):
        target = folder / volume["name"]
        if "emptyDir" in volume:
            if not target.is_dir():
                target.mkdir(parents=True)
                target.chmod(0o777)
        else:
            _replace(target, await _files(volume, find, token), group)


async def _files(volume: Object, find: Lookup, token: Token) -> dict[str, tuple[bytes, int]]:
    """Return content and mode of each file of a volume."""
    files: dict[str, tuple[bytes, int]] = {}
    projected = volume.get("projected")
    sources = [volume] if projected is None else projected["sources"]
    mode = _DEFAULT_MODE if projected is None else projected.get("defaultMode", _DEFAULT_MODE)
    for source in sources:
        if (wanted := source.get("serviceAccountToken")) is not None:
            text = await token(wanted.get("audience", ""), wanted.get("expirationSeconds", 3600))
            files[wanted["path"]] = (text.encode(), mode)
            continue
        kind = next((kind for kind in ("configMap", "secret") if kind in source), None)
        if kind is None:
            raise ConfigMissingError(f"the volume {volume['name']} is of a kind that is not known here")
        named = source[kind]
        values = await content(kind[0].upper() + kind[1:], named, find)
        for item in named.get("items") or [{"key": key, "path": key} for key in values]:
            if item["key"] not in values:
                if named.get("optional"):
                    continue
                raise ConfigMissingError(f"the volume {volume['name']} has no key {item['key']}")
            files[item["path"]] = (values[item["key"]], item.get("mode", named.get("defaultMode", mode)))
    return files


def _replace(target: Path, files: dict[str, tuple[bytes, int]], group: int | None) -> None:
    target.mkdir(parents=True, exist_ok=True)
    data = target / "..data"
    if data.exists() and {name: (data / name).read_bytes() for name in files if (data / name).exists()} == {
        name: value for name, (value, _) in files.items()
    }:
        return
    version = target / f"..{next(_versions)}"
    for name, (value, mode) in files.items():
        file = version / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(value)
        file.chmod(mode)
        if group is not None:
            os.chown(file, 0, group)
    link = target / "..next"
    link.symlink_to(version.name)
    before = data.resolve() if data.exists() else None
    link.replace(data)
    for name in {Path(name).parts[0] for name in files}:
        if not (target / name).is_symlink():
            (target / name).symlink_to(f"..data/{name}")
    if before is not None:
        shutil.rmtree(before)
