"""Names and folders: a name stands for one thing, and a folder can be read at a glance."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.paths import ROOT

PACKAGES = [ROOT / "core", ROOT / "stream"]
MOST_IN_A_PACKAGE = 12
MOST_IN_A_FOLDER = 20


def public_types(module: ast.Module) -> Iterator[str]:
    """List the public classes of a module, and the public names that stand for a type."""
    for statement in module.body:
        match statement:
            case ast.ClassDef(name=name):
                named = [name]
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                named = [name]
            case ast.Assign(targets=[ast.Name(id=name)]) if not name.isupper():
                named = [name]
            case _:
                named = []
        yield from (name for name in named if name[0].isupper())


def is_compiled(path: Path) -> bool:
    return "__pycache__" in path.parts


def entries(folder: Path) -> list[Path]:
    """List the files of a folder, and the folders in it that hold any; none of them compiled."""
    return [
        one
        for one in folder.iterdir()
        if any(file.is_file() and not is_compiled(file) for file in (one, *one.rglob("*")))
    ]


def test_a_type_has_a_name_of_its_own() -> None:
    """
    No two public classes or type aliases of ``core`` and ``stream`` have the same name.
    """
    modules_of: defaultdict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for file in sorted(package.rglob("*.py")):
            for name in public_types(ast.parse(file.read_text("utf-8"))):
                modules_of[name].append(str(file.relative_to(ROOT)))
    assert "Feed" in modules_of
    assert {name: modules for name, modules in modules_of.items() if len(modules) > 1} == {}


def test_a_package_has_few_entries() -> None:
    """
    ``core`` and ``stream`` hold at most twelve modules and folders each.
    """
    assert {package.name: n for package in PACKAGES if (n := len(entries(package))) > MOST_IN_A_PACKAGE} == {}


def test_a_folder_has_few_entries() -> None:
    """
    No folder below ``core`` and ``stream`` holds more than twenty modules, folders and files.
    """
    folders = [one for package in PACKAGES for one in package.rglob("*") if one.is_dir() and not is_compiled(one)]
    assert folders
    assert {str(one.relative_to(ROOT)): n for one in folders if (n := len(entries(one))) > MOST_IN_A_FOLDER} == {}
