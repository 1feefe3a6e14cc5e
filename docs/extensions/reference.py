"""Sphinx directives that write the reference from the code while the site is built.

=======================  ===============================================================================
``shoal-settings``       every setting, by section
``shoal-metrics``        every metric; ``shoal-labels``: every label
``shoal-message NAME``   fields, example and schema of a message: see :data:`docs.extensions.messages.TOPICS`
``shoal-figures``        figures of ``information_loss``; ``shoal-parameters``: ``parameters``
``shoal-presets``        the presets, with their settings and examples
``shoal-models [KIND]``  the table of the models, of one kind of feed or of both
``shoal-answer NAME``    fields, example and schema of an answer: see :data:`docs.extensions.http.ANSWERS`
``shoal-encoding NAME``  examples and schemas of a release encoding; ``shoal-tables``: the columns of tables
``shoal-sizing NAME``    the figures of ``shoal size``, and the presets of the chart
=======================  ===============================================================================

The schemas are also written as files, into ``reference/schemas/`` of the site.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from core.records.record import INPUT_KINDS, Kind
from docs.extensions.encodings import ENCODING_SCHEMAS, EXAMPLES, encoding_markdown, tables_markdown
from docs.extensions.http import ANSWER_SCHEMAS, ANSWERS, answer_markdown
from docs.extensions.messages import SCHEMAS, TOPICS, figures_markdown, message_markdown, parameters_markdown
from docs.extensions.metrics import labels_markdown, metrics_markdown
from docs.extensions.models import models_table, page_of_the_site
from docs.extensions.presets import presets_markdown
from docs.extensions.settings import settings_markdown
from docs.extensions.sizing import SIZING_TABLES
from stream.formats.release.avro_schemas import AVRO_SCHEMAS

__all__ = ["setup"]


class _Generated(SphinxDirective):
    """Parses generated Markdown where it stands."""

    by_argument: ClassVar[dict[str, Callable[[], str]]]
    """Writes the Markdown, by the directive's argument; ``""`` is no argument."""

    optional_arguments = 1

    def run(self) -> list[Any]:
        argument = self.arguments[0] if self.arguments else ""
        write = self.by_argument.get(argument)
        if write is None:
            raise self.error(f"{self.name} takes one of {', '.join(self.by_argument)}, not {argument!r}")
        return self.parse_text_to_nodes(write(), allow_section_headings=True)


def _directive(**by_argument: Callable[[], str]) -> type[_Generated]:
    return type("Generated", (_Generated,), {"by_argument": by_argument})


def _models(kind: Kind | None) -> Callable[[], str]:
    return partial(models_table, kind, link=page_of_the_site)


_DIRECTIVES = {
    "shoal-settings": _directive(**{"": settings_markdown}),
    "shoal-metrics": _directive(**{"": metrics_markdown}),
    "shoal-labels": _directive(**{"": labels_markdown}),
    "shoal-message": _directive(**{topic: partial(message_markdown, topic) for topic in TOPICS}),
    "shoal-figures": _directive(**{"": figures_markdown}),
    "shoal-parameters": _directive(**{"": parameters_markdown}),
    "shoal-encoding": _directive(**{name: partial(encoding_markdown, name) for name in EXAMPLES}),
    "shoal-answer": _directive(**{name: partial(answer_markdown, name) for name in ANSWERS}),
    "shoal-tables": _directive(**{"": tables_markdown}),
    "shoal-presets": _directive(**{"": presets_markdown}),
    "shoal-sizing": _directive(**SIZING_TABLES),
    "shoal-models": _directive(**{"": _models(None)}, **{kind.value: _models(kind) for kind in INPUT_KINDS}),
}


def _write_schemas(app: Sphinx, fault: Exception | None) -> None:
    if fault is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "reference" / "schemas"
    folder.mkdir(parents=True, exist_ok=True)
    texts = {f"{name}.json": schema() for name, schema in (SCHEMAS | ENCODING_SCHEMAS | ANSWER_SCHEMAS).items()}
    texts |= {f"{name}.avsc": schema for name, schema in AVRO_SCHEMAS.items()}
    for file, schema in texts.items():
        (folder / file).write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives."""
    for name, directive in _DIRECTIVES.items():
        app.add_directive(name, directive)
    app.connect("build-finished", _write_schemas)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
