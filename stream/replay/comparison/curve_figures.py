"""The figures of a comparison by model and one setting: as tables and in words, for the pictures of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from stream.replay.comparison.table import ComparisonRow

__all__ = ["RowFigure", "figure_rows", "figures_in_words", "models_of_rows", "panels_of", "ticks_of", "values_of"]

RowFigure = Callable[[ComparisonRow], float | None]
"""Returns a figure of a row; None if there is none."""


def values_of(row: ComparisonRow) -> Mapping[str, str]:
    """Return the values of a row that may vary, by the name of the column, without the model."""
    own = {"k": str(row.k)}
    own |= {"m": str(row.m)} if row.m is not None else {"delta_m": f"{row.delta_m:g}"}
    return own | dict(row.varied)


def panels_of(rows: Sequence[ComparisonRow], axis: str) -> dict[str, list[ComparisonRow]]:
    """Group rows by the values of all settings but that of the axis; only values that differ are in the names."""
    n_values = {name: len({values_of(row)[name] for row in rows}) for name in values_of(rows[0])}
    panels: dict[str, list[ComparisonRow]] = {}
    for row in rows:
        name = ", ".join(
            f"{name.removeprefix('privacy.')} = {value}"
            for name, value in values_of(row).items()
            if name != axis and n_values[name] > 1
        )
        panels.setdefault(name, []).append(row)
    return panels


def ticks_of(rows: Sequence[ComparisonRow], axis: str) -> list[str]:
    """Return the values of the axis, each once, in their order."""
    return list(dict.fromkeys(values_of(row)[axis] for row in rows))


def models_of_rows(rows: Sequence[ComparisonRow]) -> list[str]:
    """Return the models, each once, in their order."""
    return list(dict.fromkeys(row.model for row in rows))


def figure_rows(
    panels: Mapping[str, Sequence[ComparisonRow]],
    ticks: Sequence[str],
    axis: str,
    value: RowFigure,
    bound: RowFigure | None,
    beside: RowFigure | None = None,
) -> list[tuple[str, tuple[str, ...]]]:
    """Return a table: a row for each model, with the panel if there are several, and a column for each tick.

    Args:
        panels: The rows of each panel.
        ticks: The values of the axis.
        axis: The setting that has them.
        value: The figure.
        bound: A figure that all rows of a panel share, as its first row; None for no such row.
        beside: A share, percent, that is written before each figure in metres; None for the figure alone.
    """
    table: list[tuple[str, tuple[str, ...]]] = []
    for panel, its in panels.items():
        name = f", {panel}" if panel else ""
        if bound is not None:
            at = {values_of(row)[axis]: row for row in its}
            table.append((f"1/k{name}", tuple(_shown(bound(at[tick])) if tick in at else "" for tick in ticks)))
        for model in models_of_rows(its):
            of_model = {values_of(row)[axis]: row for row in its if row.model == model}
            cells = []
            for tick in ticks:
                row = of_model.get(tick)
                cell = "" if row is None else _shown(value(row))
                cells.append(cell if row is None or beside is None else f"{_shown(beside(row))} %, {cell} m")
            table.append((f"{model}{name}", tuple(cells)))
    return table


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def figures_in_words(rows: Sequence[ComparisonRow], axis: str, value: RowFigure, unit: str) -> list[str]:
    """Say the figures of each model in words."""
    sentences = []
    for panel, its in panels_of(rows, axis).items():
        for model in models_of_rows(its):
            figures = [
                f"{_shown(value(row))} {unit}".strip() + f" at {axis} {values_of(row)[axis]}"
                for row in its
                if row.model == model and value(row) is not None
            ]
            name = f"{model} ({panel})" if panel else model
            sentences.append(f"{name}: {', '.join(figures) or 'nothing released'}.")
    return sentences
