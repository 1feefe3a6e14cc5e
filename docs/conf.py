"""The documentation site: ``make docs`` builds it into ``build/docs``."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import metadata

project = "Shoal"
author = "Shoal's contributors"
copyright = f"{datetime.now(UTC):%Y}, {author}"  # noqa: A001 - the name that Sphinx reads
release = metadata.version("shoal")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_design",
    "docs.extensions.reference",  # the directives shoal-settings, shoal-metrics and so on: the reference, from the code
]

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3
# Notebooks run while the site is built, so that every picture and figure in them is that of the code.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120

html_theme = "furo"
html_title = "Shoal"
html_show_sphinx = False
smartquotes = False  # `--set` stays what it is
autodoc_typehints = "description"
autodoc_member_order = "bysource"
