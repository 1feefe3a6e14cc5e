"""Quick and deep runs together leave nothing out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.budgets import LEAST, SHARES, examples
from tests.paths import ROOT
from tests.selection import gains_by_a_deep_run, has_a_budget

MAY_IMPORT_BUDGETS = {"tests/conftest.py"}
"""Besides the test modules themselves."""

MODULES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "tests").rglob("*.py")}


@pytest.mark.parametrize("budget", [1, LEAST, 60, 100, 500])
def test_a_deep_run_draws_the_whole_budget_and_the_others_a_share(budget: int) -> None:
    """
    A quick run draws a twentieth, CI a quarter, but five at least and never more than the budget; a thorough run as
    much as a deep one where nothing else is said.
    """
    quick, ci, deep, thorough = (examples(budget, profile=profile) for profile in SHARES)
    assert quick == min(budget, max(LEAST, budget // 20))
    assert ci == min(budget, max(LEAST, budget // 4))
    assert deep == thorough == budget
    assert examples(budget, thorough=9999, profile="thorough") == 9999
    assert examples(budget, least=50, profile="quick") == min(budget, 50)


def test_a_profile_that_does_not_exist_is_refused() -> None:
    """
    A misspelled HYPOTHESIS_PROFILE ends the run, and the sentence names the profiles that there are.
    """
    done = subprocess.run(
        [sys.executable, "-c", "import tests.budgets"],
        env=os.environ | {"HYPOTHESIS_PROFILE": "deeep", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "HYPOTHESIS_PROFILE=deeep is no profile: choose one of quick, ci, deep, thorough" in done.stderr


def test_every_number_of_examples_is_a_budget() -> None:
    """
    No test module writes `max_examples=` with a number: the number would be the same in every profile.
    """
    written = {name: re.findall(r"\bmax_examples=\d+", text) for name, text in MODULES.items()}
    assert {name: found for name, found in written.items() if found} == {}


def test_a_budget_is_read_where_the_selection_sees_it() -> None:
    """
    Only test modules read budgets. A helper that read one would change tests of modules that do not import it, and a
    deep run would leave those out.
    """
    readers = {name for name, text in MODULES.items() if re.search(r"^from tests.budgets\b", text, re.MULTILINE)}
    assert {name for name in readers if not Path(name).name.startswith("test_")} == MAY_IMPORT_BUDGETS


def test_every_test_with_examples_is_in_the_deep_run(request: pytest.FixtureRequest) -> None:
    """
    Of all tests that this run has collected, those that hypothesis draws examples for gain by a deep run.
    """
    drawn = [item for item in request.session.items if hasattr(getattr(item, "obj", None), "hypothesis")]
    assert [item.nodeid for item in drawn if not gains_by_a_deep_run(item)] == []


@pytest.mark.parametrize(
    ("source", "has"),
    [
        ("from hypothesis import given\n", True),
        ("import numpy\nimport hypothesis\n", True),
        ("def test():\n    from hypothesis import find\n", True),
        ("from tests.budgets import examples\n", True),
        ("import hypothesisless\n", False),
        ('"""See hypothesis."""\nimport pytest\n', False),
    ],
)
def test_a_module_with_a_budget_is_recognized(source: str, has: bool) -> None:
    """
    By its imports, wherever they stand.
    """
    assert has_a_budget(source) is has


SUITE = {
    "test_drawn": "from hypothesis import given, strategies\n@given(strategies.none())\ndef test(nothing): pass\n",
    "test_looped": "from tests.budgets import examples\ndef test(): range(examples(9))\n",
    "test_plain": "import pytest\ndef test(): pass\n@pytest.mark.deep\ndef test_marked(): pass\n",
}


@pytest.mark.deep
def test_what_is_left_out_of_a_deep_run_is_in_the_quick_one(tmp_path: Path) -> None:
    """
    `--only-deep` keeps tests with a budget and tests marked deep; a quick run has all others, and `.ci/run` runs both.
    """
    for name, source in SUITE.items():
        (tmp_path / f"{name}.py").write_text(source)

    def collected(*how: str) -> set[str]:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path)),
                *("-p", "tests.conftest", "-p", "no:cacheprovider", "--collect-only", "-q", *how, str(tmp_path)),
            ],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return set(re.findall(r"^(\S+::\S+)", done.stdout, re.MULTILINE))

    everything = {"test_drawn.py::test", "test_looped.py::test", "test_plain.py::test", "test_plain.py::test_marked"}
    assert collected() == everything
    assert collected("--only-deep") == everything - {"test_plain.py::test"}
    assert collected("-m", "not deep") == everything - {"test_plain.py::test_marked"}

    makefile, ci = (ROOT / "Makefile").read_text(), (ROOT / ".ci" / "run").read_text()
    assert re.findall(r'\$\(PYTEST\) -m "(.+)"', makefile) == ["$(EVERYDAY) and not deep", "$(EVERYDAY)"]
    assert re.findall(r"^(?:exec )?make (.+)", ci, re.MULTILINE) == ["test", "test-deep ONLY_DEEP=1 PROFILE=ci"]
