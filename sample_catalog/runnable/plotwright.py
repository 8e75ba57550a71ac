"""Charts as PNG pictures."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import TextContent
from pydantic import BaseModel, Field

from sample_catalog.runnable._common import READS, serve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWING = Lock()
SIZES = {"small": (4.0, 3.0), "medium": (7.0, 4.5), "large": (11.0, 7.0)}

Number = Annotated[float, Field(ge=-1e12, le=1e12)]
Share = Annotated[float, Field(ge=0, le=1e12)]
Values = Annotated[list[Number], Field(description="The values", min_length=1, max_length=10_000)]
Labels = Annotated[list[str], Field(description="One label per value", min_length=1, max_length=60)]
Title = Annotated[str, Field(description="Title over the chart", max_length=120)]
XLabel = Annotated[str, Field(description="Name of the horizontal axis", max_length=80)]
YLabel = Annotated[str, Field(description="Name of the vertical axis", max_length=80)]
Size = Annotated[Literal["small", "medium", "large"], Field(description="Size of the picture")]

server = MCPServer(
    "Plotwright",
    title="Plotwright",
    description="Draws line, bar, scatter, histogram, pie, heat map and box charts and returns them as PNG pictures.",
    instructions="Each tool returns one picture and one line of text that says what it shows.",
    version="1.0.2",
    log_level="WARNING",
)


class Series(BaseModel):
    """One line of a chart."""

    name: str = Field(description="Name for the legend", max_length=60)
    values: list[Number] = Field(description="Values in order", min_length=1, max_length=10_000)


class Chart:
    """A figure to draw on, and its picture afterwards; drawing is one at a time."""

    def __init__(self, title: str, x_label: str = "", y_label: str = "", size: str = "medium") -> None:
        self.title, self.x_label, self.y_label, self.size = title, x_label, y_label, size

    def __enter__(self) -> Chart:
        DRAWING.acquire()
        try:
            import matplotlib as mpl
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure

            mpl.rcParams["text.parse_math"] = False  # a dollar sign in a label is a dollar sign
            self.figure = Figure(figsize=SIZES[self.size], dpi=100, layout="constrained")
            FigureCanvasAgg(self.figure)
            self.axes: Axes = self.figure.add_subplot()
            self.axes.set(title=self.title, xlabel=self.x_label, ylabel=self.y_label)
        except BaseException:
            DRAWING.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        DRAWING.release()

    def picture(self, says: str) -> list[Image | TextContent]:
        """The chart as PNG with one line of text."""
        buffer = BytesIO()
        self.figure.savefig(buffer, format="png")
        return [Image(data=buffer.getvalue(), format="png"), TextContent(text=says)]


def _equal(labels: list[str], values: list[float]) -> None:
    if len(labels) != len(values):
        raise ToolError(f"there are {len(labels)} labels for {len(values)} values")


@server.tool(title="Line chart", annotations=READS)
def line_chart(
    series: Annotated[list[Series], Field(description="Lines to draw", min_length=1, max_length=12)],
    x: Annotated[Sequence[str | Number], Field(description="Horizontal positions or labels; empty: 1, 2, 3, ...")] = (),
    *,
    title: Title = "",
    x_label: XLabel = "",
    y_label: YLabel = "",
    size: Size = "medium",
) -> list[Image | TextContent]:
    """Draw one or more series as a line chart, for example a development over time."""
    with Chart(title, x_label, y_label, size) as chart:
        for line in series:
            if x and len(x) != len(line.values):
                raise ToolError(f"series {line.name!r} has {len(line.values)} values for {len(x)} positions")
            chart.axes.plot(x or range(1, len(line.values) + 1), line.values)
        chart.axes.legend(chart.axes.lines, [line.name for line in series])
        return chart.picture(f"line chart of {', '.join(line.name for line in series)}")


@server.tool(title="Bar chart", annotations=READS)
def bar_chart(
    labels: Labels,
    values: Values,
    *,
    horizontal: Annotated[bool, Field(description="Bars from left to right")] = False,
    title: Title = "",
    x_label: XLabel = "",
    y_label: YLabel = "",
    size: Size = "medium",
) -> list[Image | TextContent]:
    """Draw a bar chart that compares values of categories."""
    _equal(labels, values)
    with Chart(title, x_label, y_label, size) as chart:
        positions = range(len(labels))
        if horizontal:
            chart.axes.barh(positions, values, tick_label=labels)
            chart.axes.invert_yaxis()
        else:
            chart.axes.bar(positions, values, tick_label=labels)
        return chart.picture(f"bar chart of {len(values)} values, largest: {labels[values.index(max(values))]}")


@server.tool(title="Scatter plot", annotations=READS)
def scatter_plot(
    x: Values,
    y: Values,
    *,
    title: Title = "",
    x_label: XLabel = "",
    y_label: YLabel = "",
    trend_line: Annotated[bool, Field(description="Add the least-squares line")] = False,
    size: Size = "medium",
) -> list[Image | TextContent]:
    """Draw points to show how two quantities relate, on request with a trend line."""
    if len(x) != len(y):
        raise ToolError(f"x has {len(x)} values, y has {len(y)}")
    with Chart(title, x_label, y_label, size) as chart:
        chart.axes.scatter(x, y, s=18)
        if trend_line:
            if len(set(x)) < 2:
                raise ToolError("a trend line needs two different x values")
            import numpy as np

            slope, intercept = np.polyfit(x, y, 1)
            ends = [min(x), max(x)]
            chart.axes.plot(ends, [intercept + slope * end for end in ends])
        return chart.picture(f"scatter plot of {len(x)} points")


@server.tool(title="Histogram", annotations=READS)
def histogram(
    values: Values,
    bins: Annotated[int, Field(description="How many bars", ge=1, le=200)] = 20,
    *,
    title: Title = "",
    x_label: XLabel = "",
    size: Size = "medium",
) -> list[Image | TextContent]:
    """Draw how values are distributed."""
    with Chart(title, x_label, "count", size) as chart:
        counts, _, _ = chart.axes.hist(values, bins=bins)
        return chart.picture(f"histogram of {len(values)} values, highest bar: {int(max(counts))}")


@server.tool(title="Pie chart", annotations=READS)
def pie_chart(
    labels: Labels,
    values: Annotated[list[Share], Field(description="Shares, not negative", min_length=1, max_length=60)],
    *,
    title: Title = "",
    size: Size = "medium",
) -> list[Image | TextContent]:
    """pie"""
    _equal(labels, values)
    if sum(values) == 0:
        raise ToolError("all shares are zero")
    with Chart(title, size=size) as chart:
        chart.axes.pie(values, labels=labels, autopct="%.0f%%", startangle=90, counterclock=False)
        return chart.picture(f"pie chart of {len(values)} shares, largest: {labels[values.index(max(values))]}")


@server.tool(title="Heat map", annotations=READS)
def heat_map(
    rows: Annotated[list[list[Number]], Field(description="Matrix, row by row", min_length=1, max_length=200)],
    row_labels: Annotated[Sequence[str], Field(description="One label per row; empty for none")] = (),
    column_labels: Annotated[Sequence[str], Field(description="One label per column; empty for none")] = (),
    *,
    title: Title = "",
    size: Size = "medium",
) -> list[Image | TextContent]:
    """Draw a matrix of numbers as a grid of colours with a scale."""
    width = len(rows[0])
    if not width or any(len(row) != width for row in rows):
        raise ToolError("all rows need the same number of values, at least one")
    if len(row_labels) not in (0, len(rows)) or len(column_labels) not in (0, width):
        raise ToolError(f"labels do not fit a matrix of {len(rows)} rows and {width} columns")
    with Chart(title, size=size) as chart:
        chart.figure.colorbar(chart.axes.imshow(rows, cmap="viridis", aspect="auto"))
        chart.axes.set_yticks(range(len(row_labels)), row_labels)
        chart.axes.set_xticks(range(len(column_labels)), column_labels)
        return chart.picture(f"heat map of {len(rows)} x {width} values")


@server.tool(title="Box plot", annotations=READS)
def box_plot(
    groups: Annotated[list[Series], Field(description="Groups to compare", min_length=1, max_length=30)],
    *,
    title: Title = "",
    y_label: YLabel = "",
    size: Size = "medium",
) -> list[Image | TextContent]:
    """Draw the median, quartiles and outliers of several groups side by side."""
    with Chart(title, "", y_label, size) as chart:
        chart.axes.boxplot([group.values for group in groups], tick_labels=[group.name for group in groups])
        return chart.picture(f"box plot of {', '.join(group.name for group in groups)}")


if __name__ == "__main__":
    serve(server)
