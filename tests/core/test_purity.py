"""Core is pure: no clock, no chance, no environment, no files, and no way out to the edge."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

MODULES = sorted((ROOT / "core").rglob("*.py"))

STANDARD = {
    *("__future__", "abc", "array", "bisect", "collections", "dataclasses", "datetime", "decimal", "enum", "fractions"),
    *("functools", "hashlib", "heapq", "itertools", "math", "operator", "re", "types", "typing", "unicodedata"),
}
INSTALLED = {
    "core", "h3", "msgspec", "numba", "numpy", "prefixspan", "pydantic", "pyproj", "rapidfuzz", "shapely",
    "sortedcontainers",
}  # fmt: skip

CLOCK = {"now", "utcnow", "today", "fromtimestamp", "utcfromtimestamp", "localtime", "gmtime", "astimezone"}
"""Methods that read the clock, or the zone of the machine unless they are given one."""

GENERATORS = {"default_rng", "Generator", "SeedSequence", "Philox", "PCG64", "PCG64DXSM", "MT19937", "SFC64"}
"""Of numpy.random only these may be called, and only with a seed, a key or a bit generator."""

FORBIDDEN_CALLS = {
    *("open", "print", "input", "hash", "id", "eval", "exec", "compile", "breakpoint", "__import__"),
    *("urandom", "getenv", "token_bytes", "uuid4", "uuid1"),
    *("tofile", "fromfile", "save", "savez", "savetxt", "load", "loadtxt", "memmap", "genfromtxt"),
}
FORBIDDEN_ROOTS = {"time", "random", "os", "sys", "secrets", "uuid", "socket", "io", "pathlib", "logging", "asyncio"}


def impurities(source: str) -> list[str]:
    """Name what a module does that a pure one must not, with line numbers."""
    return [f"line {line}: {what}" for line, what in sorted(_impurities(ast.parse(source)))]


def _impurities(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or "."]
            for module in modules:
                if module.split(".")[0] not in STANDARD | INSTALLED:
                    yield node.lineno, f"imports {module}"
        elif isinstance(node, ast.Attribute) and _dotted(node).split(".")[0] in FORBIDDEN_ROOTS:
            yield node.lineno, _dotted(node)
        elif isinstance(node, ast.Call):
            name = _dotted(node.func)
            last = name.split(".")[-1]
            bare = not node.args and not node.keywords
            if (
                (last in FORBIDDEN_CALLS and name != "re.compile")
                or (last in CLOCK and (bare or last in {"now", "utcnow", "today"}))
                or (last in GENERATORS and (bare or _is_none(node)))
                or (".random." in f".{name}" and last not in GENERATORS)
            ):
                yield node.lineno, f"{name}()"
        elif isinstance(node, ast.Name) and node.id == "__builtins__":
            yield node.lineno, node.id


def _is_none(call: ast.Call) -> bool:
    """Whether a seed is given as None, which is none."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return all(isinstance(value, ast.Constant) and value.value is None for value in given)


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def test_core_is_found() -> None:
    """
    The walk reaches the modules of core and of its packages.
    """
    names = {path.relative_to(ROOT).as_posix() for path in MODULES}
    assert {"core/pipeline.py", "core/models/km/anonymize/seqanon.py", "core/models/km/verify.py"} <= names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_core_reads_neither_clock_nor_chance_nor_environment(path: Path) -> None:
    """
    Time and chance are arguments, and imports come from a short list: what a module does depends on its input alone.
    """
    assert impurities(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "planted",
    [
        "from datetime import datetime\nnow = datetime.now()",
        "from datetime import datetime, UTC\nnow = datetime.now(UTC)",
        "import datetime\nnow = datetime.datetime.utcnow()",
        "from datetime import date\nday = date.today()",
        "def f(ts):\n    return ts.astimezone()",
        "import time",
        "from time import monotonic",
        "time.time()",
        "import random",
        "random.random()",
        "import numpy as np\nrng = np.random.default_rng()",
        "import numpy as np\nrng = np.random.default_rng(None)",
        "import numpy as np\nrng = np.random.Generator(np.random.Philox())",
        "from numpy.random import default_rng\nrng = default_rng()",
        "import numpy as np\nnp.random.seed(1)",
        "import numpy as np\nx = np.random.rand(3)",
        "import numpy\nx = numpy.random.shuffle([1])",
        "import os",
        "key = os.environ['SECRET']",
        "from os import environ",
        "import sys",
        "text = open('file').read()",
        "import numpy as np\nx = np.load('file')",
        "def f(rows):\n    rows.tofile('file')",
        "print('u1')",
        "order = hash('u1')",
        "order = id(object())",
        "module = __import__('time')",
        "import importlib",
        "import logging",
        "import stream.formats.codec",
        "from stream import codec",
    ],
)
def test_an_impurity_is_seen(planted: str) -> None:
    """
    Each way to reach for the world, planted, is found.
    """
    assert impurities(planted)


@pytest.mark.parametrize(
    "harmless",
    [
        "import numpy as np\nrng = np.random.default_rng(7)",
        "import numpy as np\nrng = np.random.Generator(np.random.Philox(key=[1, 2]))",
        "def f(rng):\n    return rng.random(3), rng.shuffle([1])",
        "from datetime import datetime, UTC\nday = datetime.fromtimestamp(0, tz=UTC)",
        "import hashlib\nx = hashlib.blake2b(b'')",
        "def f(ts):\n    return ts.timestamp()",
        "'print(time.time()) is not called in a string'",
    ],
)
def test_what_is_seeded_or_given_is_pure(harmless: str) -> None:
    """
    A generator with a seed, or one that is handed in, is an argument like any other.
    """
    assert not impurities(harmless)


# ---------------------------------------------------------------- the import contract


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contract of the `pyproject.toml` in a folder against the packages there."""
    return subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_import_contract_is_kept() -> None:
    """
    Core imports nothing of the edge: not stream, not Kafka, not the clock, not the environment.
    """
    found = lint_imports(ROOT)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "0 broken" in found.stdout


PURE = "core is pure: it never reaches for the edge"
APART = "a verifier shares no code with its model's anonymizer"


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("core/places/geo.py", "import hashlib", None),
        ("core/places/geo.py", "import time", PURE),
        ("core/places/geo.py", "from os import environ", PURE),
        ("core/places/geo.py", "import stream.ingest.clock", PURE),
        ("core/places/geo.py", "from random import random", PURE),
        ("core/places/geo.py", "import logging", PURE),
        ("core/places/geo.py", "import aiokafka", PURE),
        ("core/models/lkc/verify.py", "from core.models.lkc.anonymize.levels import Levels", APART),
        ("core/models/km/verify.py", "from core.models.km.release import assemble", APART),
        ("core/models/kdelta/verify.py", "import core.models.km.anonymize.seqanon", APART),
        ("core/models/lkc/plan.py", "from core.models.km.plan import KmPlan", "models know nothing of one another"),
        ("core/windows/seal.py", "import core.utility.distance", "the layers of core"),
        ("stream/formats/files/csv_files/lines.py", "import stream.kafka.client", "the layers of stream"),
        ("core/windows/window.py", "import core.windows.seal", "no cycles, in no folder"),
    ],
)
def test_the_import_contracts_can_fail(tmp_path: Path, module: str, line: str, broken: str | None) -> None:
    """
    One import, deep in a function of a copy, breaks the contract that it breaks, and a harmless one none.
    """
    for package in ("core", "stream"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "page"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / module).open("a", encoding="utf-8") as out:
        out.write(f"\n\ndef planted() -> None:\n    {line}\n")
    found = lint_imports(tmp_path)
    assert (found.returncode == 0) is (broken is None), found.stdout + found.stderr
    assert broken is None or f"{broken} BROKEN" in found.stdout
