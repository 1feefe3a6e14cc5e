"""Builds dashboards: turns rows of panels into the JSON that Grafana reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from grafana_foundation_sdk.builders import common, dashboard, stat, timeseries
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueTextMode,
    GraphThresholdsStyleMode,
    LegendDisplayMode,
    LegendPlacement,
    StackingMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    DataSourceRef,
    DynamicConfigValue,
    FieldColorModeId,
    GridPos,
    Threshold,
    ThresholdsMode,
    VariableOption,
    VariableRefresh,
)

from deploy.grafana.queries import declared

__all__ = ["Panel", "Row", "document"]

_DATASOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
_COLUMNS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel."""

    title: str
    description: str
    """What the panel shows, and how to interpret it."""

    unit: str
    """Grafana's name of the unit."""

    queries: Sequence[tuple[str, str]]
    """PromQL and legend of each query; Grafana names the queries A, B, C, ..."""

    look: Literal["lines", "stack", "figure", "names"] = "lines"
    dashed: str = ""
    """Letters of the queries with dashed lines: promises and limits."""

    exemplars: bool = False
    """Whether exemplars of the first query are shown: points that lead to the trace of a window."""

    red_from: float | None = None
    """Least value that is shown in red."""

    width: int = 8
    """Width in columns; the dashboard has 24."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A heading, and the panels below it."""

    title: str
    panels: Sequence[Panel]
    height: int = 8


def document(uid: str, title: str, description: str, rows: Sequence[Row]) -> str:
    """Return a dashboard as JSON, ready to be provisioned or imported."""
    links = dashboard.DashboardLink("Shoal").type(DashboardLinkType.DASHBOARDS).tags(["shoal"]).keep_time(True)
    made = (
        dashboard.Dashboard(title)
        .uid(uid)
        .description(description)
        .tags(["shoal"])
        .timezone("utc")
        .time("now-6h", "now")
        .refresh("30s")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .link(links.include_vars(True))
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .with_variable(_variable("job", "Job", declared("shoal_build_info").name))
        .with_variable(_variable("kind", "Feed", declared("shoal_feed_info").name))
    )
    number, top = 0, 0
    for row in rows:
        number += 1
        made.with_row(dashboard.Row(row.title).id(number).grid_pos(GridPos(h=1, w=_COLUMNS, x=0, y=top)))
        top += 1
        left = 0
        for panel in row.panels:
            if left + panel.width > _COLUMNS:
                left, top = 0, top + row.height
            number += 1
            made.with_panel(_panel(panel).id(number).grid_pos(GridPos(h=row.height, w=panel.width, x=left, y=top)))
            left += panel.width
        top += row.height
    # The null keeps Grafana from using the id of another dashboard at an import.
    content = {"id": None} | json.loads(json.dumps(made.build(), cls=JSONEncoder))
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _variable(name: str, label: str, metric: str) -> dashboard.QueryVariable:
    all_of_them = VariableOption(selected=True, text=["All"], value=["$__all"])
    return (
        dashboard.QueryVariable(name)
        .label(label)
        .datasource(_DATASOURCE)
        .query(f"label_values({metric}, {name})")
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(all_of_them)
    )


def _panel(panel: Panel) -> stat.Panel | timeseries.Panel:
    made = _figure(panel) if panel.look in ("figure", "names") else _lines(panel)
    made.title(panel.title).description(panel.description).unit(panel.unit).datasource(_DATASOURCE)
    if panel.red_from is not None:
        steps = [Threshold(value=None, color="green"), Threshold(value=panel.red_from, color="red")]
        made.thresholds(dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps))
    for query in _targets(panel):
        made.with_target(query)
    return made


def _targets(panel: Panel) -> Iterator[Dataquery]:
    for letter, (expression, legend) in zip("ABCDEFGH", panel.queries, strict=False):
        query = Dataquery().ref_id(letter).expr(expression).legend_format(legend).datasource(_DATASOURCE)
        if panel.exemplars and letter == "A":  # the other quantiles have the same ones
            query.exemplar(True)
        yield query.instant() if panel.look in ("figure", "names") else query.range()


def _figure(panel: Panel) -> stat.Panel:
    names = panel.look == "names"
    return (
        stat.Panel()
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .decimals(0)  # increase() extrapolates: a count of 1 may be 0.97
        .text_mode(BigValueTextMode.NAME if names else BigValueTextMode.VALUE_AND_NAME)
        .color_mode(BigValueColorMode.NONE if names else BigValueColorMode.VALUE)
    )


def _lines(panel: Panel) -> timeseries.Panel:
    legend = common.VizLegendOptions().display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM)
    made = timeseries.Panel().legend(legend.show_legend(True)).axis_soft_min(0).line_width(1).fill_opacity(10)
    made.color_scheme(dashboard.FieldColor().mode(FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
    if panel.look == "stack":
        made.stacking(common.StackingConfig().mode(StackingMode.NORMAL)).fill_opacity(40)
    if panel.red_from is not None:
        made.thresholds_style(common.GraphThresholdsStyleConfig().mode(GraphThresholdsStyleMode.DASHED))
    for letter in panel.dashed:
        dashes = DynamicConfigValue(id_val="custom.lineStyle", value={"fill": "dash", "dash": [10, 10]})
        made.override_by_query(letter, [dashes, DynamicConfigValue(id_val="custom.fillOpacity", value=0)])
    return made
