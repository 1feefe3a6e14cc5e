"""The table of the models, from the registry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from core.models.registry import FAMILIES, models_of
from core.records.record import INPUT_KINDS, Kind
from docs.extensions.markdown import code, table

__all__ = ["models_table", "page_of_the_site", "readme_of_the_repository"]


def readme_of_the_repository(family: str, page: str) -> str:
    """Return where the repository explains a model, from the repository's root."""
    return f"core/models/{family}/{page}"


def page_of_the_site(family: str, page: str) -> str:
    """Return where the site explains a model, from the site's root.

    >>> page_of_the_site("km", "README.md"), page_of_the_site("km", "least_loss.md")
    ('/models/km.md', '/models/least-loss.md')
    """
    return f"/models/{family if page == 'README.md' else PurePosixPath(page).stem.replace('_', '-')}.md"


def models_table(kind: Kind | None = None, *, link: Callable[[str, str], str] = readme_of_the_repository) -> str:
    """Return the table of the models in Markdown.

    Args:
        kind: Whose models; all models if None.
        link: Returns the page of a family, given the family's folder and the name of its file.
    """
    defaults = {models_of(one)[0] for one in INPUT_KINDS}
    rows = []
    for family in FAMILIES:
        if kind not in (None, family.kind):
            continue
        folder = family.plan.__module__.split(".")[2]
        for i, (model, one) in enumerate(family.summaries.items()):
            name = f"{code(model)}{' (default)' if model in defaults else ''}"
            promise = "; ".join(filter(None, ("the same" if i else family.promise, one.also)))
            where = PurePosixPath(link(folder, one.page))
            label = folder if one.page == "README.md" else PurePosixPath(one.page).stem.replace("_", "-")
            rows.append((name, promise, one.needs, f"[{label}]({where})"))
    return table(["`privacy.model`", "promise", "needs", "page"], rows)
