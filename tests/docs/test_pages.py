"""Pages of the documentation: short where they promise to be, and what they point to is there."""

from __future__ import annotations

import json
import re
import tomllib
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from core.models.common.family import Family
from core.models.registry import FAMILIES, models_of
from core.records.record import Kind, Reason
from core.release.outcome import WithholdReason
from docs.extensions.models import models_table
from tests.paths import ROOT

NAMES = sorted(
    path.relative_to(ROOT).as_posix()
    for pages in ("*.md", "docs/**/*.md", "core/**/*.md", "deploy/*.md", "helm/*.md")
    for path in ROOT.glob(pages)
)

_FENCE = re.compile(r"^(`{3,}|:{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)\s]*)?\)")


def folder_of(family: Family[Any, Any, Any, Any, Any]) -> str:
    """Return the name of a family's folder below `core/models`."""
    return family.plan.__module__.split(".")[2]


def prose(path: Path) -> str:
    """Return a page without its code blocks."""
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "most"), [("README.md", 150), ("PRIVACY.md", 200)])
def test_a_page_can_be_read_to_its_end(name: str, most: int) -> None:
    """
    The README takes two minutes, and a lawyer reads PRIVACY.md to the end: neither grows beyond its lines.
    """
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= most
    assert [line for line in lines if len(line) > 400] == []


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    """
    Every relative link of a page names a file or a folder of the repository.
    """
    page = ROOT / name
    missing = [link for link in _LINK.findall(prose(page)) if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("name", NAMES)
def test_commands_that_a_page_names_exist(name: str) -> None:
    """
    Every `make TARGET` of a page is a target of the Makefile: the figures beside it can be printed again.
    """
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:`|\$ )make ([a-z0-9]+(?:-[a-z0-9]+)*)", (ROOT / name).read_text(encoding="utf-8")))
    assert named - targets == set()


def test_each_term_of_the_glossary_stands_where_it_is_looked_up() -> None:
    """
    Terms are in alphabetical order, signs left out, and each occurs once.
    """
    page = (ROOT / "docs/concepts/glossary.md").read_text(encoding="utf-8")
    terms = [re.sub(r"[(^]", "", term.casefold()) for term in re.findall(r"^(\S.*)\n: ", page, re.MULTILINE)]
    assert len(terms) > 40
    assert terms == sorted(set(terms))


@pytest.mark.parametrize("reasons", [Reason, WithholdReason])
def test_every_reason_is_explained(reasons: type[StrEnum]) -> None:
    """
    The page of outcomes has a row for every reason for which a record is rejected or a window is withheld.
    """
    page = (ROOT / "docs/concepts/outcomes.md").read_text(encoding="utf-8")
    explained = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]+) \|", page, re.MULTILINE)))
    assert set(reasons) - set(explained) == set()


@pytest.mark.parametrize("name", ["PRIVACY.md", "docs/models/index.md"])
def test_every_model_is_named(name: str) -> None:
    """
    The pages that a person writes by hand forget no model of check-ins; models of fragments share one promise.
    """
    page = (ROOT / name).read_text(encoding="utf-8")
    assert [model for model in models_of(Kind.CHECKINS) if f"`{model}`" not in page] == []


@pytest.mark.parametrize("family", FAMILIES, ids=folder_of)
def test_every_family_is_where_families_are_listed(family: Family[Any, Any, Any, Any, Any]) -> None:
    """
    The list in `core/pipeline.py`, both contracts of imports, and the reference of Python have every family of models.
    """
    folder = folder_of(family)
    assert f" models/{folder}/ " in (ROOT / "core/pipeline.py").read_text(encoding="utf-8")
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    by_name = {contract["name"]: contract for contract in contracts}
    assert f"core.models.{folder}" in by_name["models know nothing of one another"]["modules"]
    layers = (layer.split(" | ") for layer in by_name["the layers of a model"]["layers"])
    assert folder in chain.from_iterable(layers)
    documented = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    modules = ["guarantee", *sorted(path.stem for path in (ROOT / "core/models" / folder).glob("verify*.py"))]
    missing = [module for module in modules if f".. automodule:: core.models.{folder}.{module}\n" not in documented]
    assert missing == []


def test_the_readme_has_the_table_of_models() -> None:
    """
    The README's table is the one that the registry makes.
    """
    between = re.search(
        r"<!-- models: begin -->\n(.*?)<!-- models: end -->",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        re.DOTALL,
    )
    assert between is not None
    assert between[1].strip() == models_table().strip()


def test_panels_that_the_runbook_names_exist() -> None:
    """
    Every panel that the page of alerts sends the reader to is on a dashboard, under that title.
    """
    dashboards = (json.loads(file.read_text(encoding="utf-8")) for file in ROOT.glob("helm/files/dashboards/*.json"))
    titles = {panel["title"] for one in dashboards for panel in one["panels"]}
    page = (ROOT / "docs" / "operate" / "alerts.md").read_text(encoding="utf-8")
    looked_at = re.findall(r'[Ll]ook at (?:the panel )?"([^"]+)"|[Tt]he panel\s+"([^"]+)"|" and "([^"]+)"', page)
    named = {" ".join("".join(parts).split()) for parts in looked_at}
    assert named
    assert named - titles == set()
