"""Core is pure: no clock, no chance, no environment, no files, and no way out to the edge."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "core").rglob("*.py"))

STANDARD = {
    *("__future__", "array", "bisect", "collections", "dataclasses", "datetime", "decimal", "enum", "fractions"),
    *("functools", "hashlib", "heapq", "itertools", "math", "operator", "re", "types", "typing", "unicodedata"),
}
INSTALLED = {"core", "h3", "msgspec", "numpy", "prefixspan", "pyproj", "sortedcontainers"}

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
    assert {"core/pipeline.py", "core/anonymize/seqanon.py", "core/verify/km.py"} <= names


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
        "import stream.codec",
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
    assert "1 kept, 0 broken" in found.stdout


def contract() -> str:
    """The import contract of this project, as TOML."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert list(tomllib.loads(text)["tool"])[-1] == "importlinter"
    return text[text.index("[tool.importlinter]") :]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("import hashlib", True),
        ("import time", False),
        ("from os import environ", False),
        ("import stream.clock", False),
        ("from random import random", False),
        ("import logging", False),
        ("import aiokafka", False),
    ],
)
def test_the_import_contract_can_fail(tmp_path: Path, line: str, kept: bool) -> None:
    """
    The same contract over a tiny core and stream: broken by one import, deep in a package, and kept without it.
    """
    for module, source in {
        "core/__init__.py": "",
        "core/deep/__init__.py": "",
        "core/deep/step.py": f"def step() -> None:\n    {line}\n",
        "stream/__init__.py": "",
        "stream/clock.py": "import time\nimport core.deep.step\n",
        "pyproject.toml": contract(),
    }.items():
        (tmp_path / module).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / module).write_text(source, encoding="utf-8")
    found = lint_imports(tmp_path)
    assert (found.returncode == 0) is kept, found.stdout + found.stderr
    assert ("1 kept, 0 broken" if kept else "0 kept, 1 broken") in found.stdout
