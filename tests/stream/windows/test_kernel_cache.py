"""The folder of compiled kernels: one for each version of their sources, copied where it cannot be written."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from stream.windows import kernel_cache
from stream.windows.kernel_cache import choose_kernel_cache


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "one.py").write_text("a = 1")
    return folder


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for temporary files, and no variable of numba."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(kernel_cache, "_IN_MEMORY", tmp_path / "missing")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.delenv("NUMBA_BOUNDSCHECK", raising=False)
    monkeypatch.delitem(sys.modules, "numba", raising=False)  # numba, loaded for other tests, keeps its folder
    return folder


def _nowhere(path: Path) -> Path:
    """Return a folder that not even root can make."""
    (path / "file").touch()
    return path / "file" / "folder"


def test_beside_the_sources_by_default(sources: Path) -> None:
    """
    It is where numba itself would write, and processes that start later use it too.
    """
    folder = choose_kernel_cache(sources)
    assert folder is not None
    assert folder.parent == sources / "__pycache__"
    assert os.environ["NUMBA_CACHE_DIR"] == str(folder)
    assert choose_kernel_cache(sources) == folder


def test_another_source_is_another_folder(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Numba does not see that a kernel in another file has changed, nor that bounds are checked: the name does.
    """
    found = [choose_kernel_cache(sources)]
    for name in ("one.py", "two.py"):
        (sources / name).write_text("a = 2")
        monkeypatch.setenv("NUMBA_CACHE_DIR", "")
        found.append(choose_kernel_cache(sources))
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    found.append(choose_kernel_cache(sources))
    assert None not in found
    assert len(set(found)) == 4


def test_a_folder_that_cannot_be_written_is_copied(
    sources: Path, tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    As in a container whose file system is read-only: the image's kernels are found in the copy, which is made once.
    """
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "image"))
    image = choose_kernel_cache(sources)
    assert image is not None
    (image / "kernels_1").mkdir()
    (image / "kernels_1" / "one.nbi").write_bytes(b"index")
    can_write = kernel_cache._can_write
    monkeypatch.setattr(kernel_cache, "_can_write", lambda folder: folder != image and can_write(folder))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "image"))
    copy = choose_kernel_cache(sources)
    assert copy == temporary / f"shoal-kernels-{os.getuid()}" / image.name
    assert (copy / "kernels_1" / "one.nbi").read_bytes() == b"index"
    (copy / "kernels_1" / "two.nbi").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "image"))
    assert choose_kernel_cache(sources) == copy
    assert (copy / "kernels_1" / "two.nbi").exists()
    assert [one.name for one in copy.parent.iterdir()] == [image.name]


def test_a_folder_that_others_could_write_is_not_used(
    tmp_path: Path, sources: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Numba runs what it finds, so nobody else may put it there.
    """
    own = temporary / f"shoal-kernels-{os.getuid()}"
    own.mkdir()
    own.chmod(0o777)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(_nowhere(tmp_path)))
    assert choose_kernel_cache(sources) is None
    own.rmdir()
    folder = choose_kernel_cache(sources)
    assert folder is not None
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    own.rename(temporary / "elsewhere")
    own.symlink_to(temporary / "elsewhere")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "folder"))
    assert choose_kernel_cache(sources) is None


def test_nothing_can_be_written(tmp_path: Path, sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The caller is told, so that it can warn; numba keeps its variable.
    """
    nowhere = str(_nowhere(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", nowhere)
    monkeypatch.setenv("NUMBA_CACHE_DIR", nowhere)
    assert choose_kernel_cache(sources) is None
    assert os.environ["NUMBA_CACHE_DIR"] == nowhere
