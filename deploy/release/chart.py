"""The chart as it is published: with its license, and with what Artifact Hub shows of it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import yaml

__all__ = ["PLATFORMS", "changes", "metadata", "stage"]

PLATFORMS = ("linux/amd64", "linux/arm64")
"""The platforms of the image."""


def stage(root: Path, folder: Path, *, source: str, icon: str, image: str) -> Path:
    """Copy the chart into a folder, complete it, and return where it is.

    Args:
        root: The repository.
        folder: An existing folder.
        source: Address of the repository; without it the chart names no home, sources and icon.
        icon: Address of its picture.
        image: The image with its tag; without it none is listed.
    """
    chart = folder / "shoal"
    shutil.copytree(root / "helm", chart)
    shutil.copy(root / "LICENSE", chart)
    file = chart / "Chart.yaml"
    described = yaml.safe_load(file.read_text(encoding="utf-8"))
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    completed = metadata(described, source=source, icon=icon, image=image, changed=changes(changelog))
    file.write_text(yaml.safe_dump(completed, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return chart


def metadata(described: dict[str, Any], *, source: str, icon: str, image: str, changed: list[str]) -> dict[str, Any]:
    """Return the content of ``Chart.yaml`` with what is known only at a release."""
    annotations = dict(described["annotations"])
    annotations["artifacthub.io/changes"] = yaml.safe_dump(changed, allow_unicode=True, width=10_000)
    if image:
        images = [{"name": "shoal", "image": image, "platforms": list(PLATFORMS)}]
        annotations["artifacthub.io/images"] = yaml.safe_dump(images, sort_keys=False)
    completed = described | {"annotations": annotations}
    if source:
        links = [{"name": "source", "url": source}]
        annotations["artifacthub.io/links"] = yaml.safe_dump(links, sort_keys=False)
        completed |= {"home": source, "sources": [source], "icon": icon}
    return completed


def changes(changelog: str) -> list[str]:
    r"""Return the first sentence of every entry of the newest version that is about the chart, without Markdown.

    >>> changes("# Changelog\n\n## 0.2.0\n\n- The chart is\n  `new`. It was not.\n- Faster.\n\n## 0.1.0\n\n- A chart.")
    ['The chart is new.']
    """
    newest = re.split(r"^## .*$", changelog, flags=re.MULTILINE)[1]
    entries = re.findall(r"^- (.*(?:\n  .*)*)", newest, re.MULTILINE)
    texts = [re.sub(r"\s+", " ", entry).replace("`", "").replace("*", "") for entry in entries]
    return [re.split(r"(?<=[.;]) (?=[A-Z])", text)[0] for text in texts if re.search(r"\bchart\b", text)]
