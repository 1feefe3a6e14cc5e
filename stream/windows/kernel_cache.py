"""The folder in which numba keeps compiled kernels, chosen before numba is loaded.

Numba compiles a kernel anew if its own file has changed, but not if a kernel that it calls, in another file, has. So
the folder's name is a digest of all kernels: compiled code of other sources is never found.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import core.kernels

__all__ = ["NO_CACHE", "choose_kernel_cache"]

_VARIABLE = "NUMBA_CACHE_DIR"
_CHANGE_CODE = ("NUMBA_BOUNDSCHECK", "NUMBA_OPT")
"""Variables of numba that change the machine code, and that its cache does not know."""

_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - only if no folder for temporary files can be written

NO_CACHE = (
    "no folder can be written in which compiled kernels could be kept, so every process compiles them at every start: "
    f"set {_VARIABLE} to a folder that this user may write to"
)


def choose_kernel_cache(sources: Path = Path(core.kernels.__path__[0])) -> Path | None:
    """Let numba keep compiled kernels in a folder that can be written; processes started later inherit the choice.

    The folder is below the one that ``NUMBA_CACHE_DIR`` names, by default below ``__pycache__`` beside the kernels. If
    that cannot be written, as in a container whose file system is read-only, its content is copied to a folder for
    temporary files. May be called more than once.

    Args:
        sources: Folder of the modules of kernels.

    Returns:
        The folder, or None if nothing can be written.
    """
    name = f"shoal-{_digest(sources)}"
    given = os.environ.get(_VARIABLE)
    base = Path(given) if given else sources / "__pycache__"
    wanted = base if base.name == name else base / name
    folder = wanted if _can_write(wanted) else _copied(wanted)
    if folder is not None:
        os.environ[_VARIABLE] = str(folder)
        if (numba := sys.modules.get("numba")) is not None:  # it has read the variable already
            numba.config.CACHE_DIR = str(folder)
    return folder


def _digest(sources: Path) -> str:
    parts = [path.name.encode() + b"\0" + path.read_bytes() for path in sorted(sources.rglob("*.py"))]
    with contextlib.suppress(PackageNotFoundError):
        parts.append(version("numba").encode())
    parts += [f"{name}={value}".encode() for name in _CHANGE_CODE if (value := os.environ.get(name))]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _copied(cache: Path) -> Path | None:
    """Copy a cache that cannot be written to a folder for temporary files, unless it is there already."""
    own = _own_folder()
    if own is None:
        return None
    copy = own / cache.name
    if not copy.exists() and cache.is_dir():
        with tempfile.TemporaryDirectory(dir=own) as unfinished:
            # Renamed when it is whole: another process of this user may look for it at this moment.
            whole = Path(shutil.copytree(cache, Path(unfinished) / cache.name, copy_function=shutil.copyfile))
            whole.chmod(0o700)
            with contextlib.suppress(OSError):  # the other process was first
                whole.rename(copy)
    return copy if _can_write(copy) else None


def _own_folder() -> Path | None:
    """Return a folder for temporary files that only this user can write to: numba runs what it finds in its cache."""
    for parent in (_temporary(), _IN_MEMORY):
        folder = parent / f"shoal-kernels-{os.getuid()}"
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
            is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
            if is_own and _can_write(folder):
                return folder
    return None


def _temporary() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except OSError:  # none can be written
        return _IN_MEMORY
