"""Pictures as inline SVG: each has a title and a description, and needs no script.

They are drawn 420 units wide, so that their text can be read from 340 to 620 pixels.
"""

from collections.abc import Sequence

from cltr.report.page.drawing import WIDTH, Line, Row, marker, svg
from cltr.report.page.markup import Html, element, join
from cltr.report.page.scales import Scale, around, tick_text

LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 12.0, 44.0


def axes(
    across: Scale, up: Scale, *, x_title: str, y_title: str, height: float, x_ticks: Sequence[float]
) -> Html:
    """A frame with ticks; the title of the upward axis stands above it."""
    bottom, found = height - BOTTOM, []
    for tick in up.ticks:
        y = up(tick)
        found.append(element("path", d=f"M{LEFT:g} {y:.1f}H{WIDTH - RIGHT:g}", class_="axis"))
        words = tick_text(tick, up.ticks)
        found.append(element("text", words, x=LEFT - 6, y=y + 4, text_anchor="end", class_="soft"))
    for tick in x_ticks:
        x = across(tick)
        found.append(element("path", d=f"M{x:.1f} {bottom:g}v5", class_="axis"))
        words = tick_text(tick, x_ticks)
        found.append(
            element("text", words, x=x, y=bottom + 18, text_anchor="middle", class_="soft")
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    found.append(element("text", x_title, x=middle, y=height - 6, text_anchor="middle"))
    found.append(element("text", y_title, x=4, y=14))
    return join(found)


def line_chart(
    title: str,
    description: str,
    lines: Sequence[Line],
    *,
    x_title: str,
    y_title: str,
    zero: bool = False,
    logarithmic: bool = False,
    ticks: Sequence[float] | None = None,
    extra: Sequence[tuple[float, str]] = (),
) -> Html:
    """Curves over a number.

    Args:
        title: of the picture.
        description: what it shows, with its main numbers.
        lines: the curves.
        x_title: of the axis across.
        y_title: of the axis upward.
        zero: whether the upward axis begins at 0.
        logarithmic: whether the axis across is.
        ticks: of the axis across; round numbers by default.
        extra: places across where a vertical line stands, each with its colour.
    """
    height = 250.0
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    low, high = around(ys, zero=zero)
    low = 0.0 if zero and min(ys, default=0.0) >= 0 else low
    across = Scale(min(xs), max(xs), LEFT + 8, WIDTH - RIGHT - 8, logarithmic)
    up = Scale(low, high, height - BOTTOM, TOP + 16)
    frame = axes(
        across,
        up,
        x_title=x_title,
        y_title=y_title,
        height=height,
        x_ticks=across.ticks if ticks is None else ticks,
    )
    upright = [
        element(
            "path",
            d=f"M{across(x):.1f} {up(low):.1f}V{up(high):.1f}",
            stroke=colour,
            stroke_width=1.5,
            stroke_dasharray="4 3",
            fill="none",
        )
        for x, colour in extra
    ]
    drawn = [_drawn(line, across, up) for line in lines]
    return svg(title, description, [frame, upright, drawn], height=height)


def _drawn(line: Line, across: Scale, up: Scale) -> Html:
    places = [(across(x), up(y)) for x, y in line.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    band = None
    if line.low is not None and line.high is not None:
        edge = [
            (across(x), up(min(max(y, up.low), up.high)))
            for (x, _), y in zip(line.points, line.high, strict=True)
        ]
        back = [
            (across(x), up(min(max(y, up.low), up.high)))
            for (x, _), y in zip(line.points, line.low, strict=True)
        ]
        around_ = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*edge, *reversed(back)])
        band = element("polygon", points=around_, fill=line.colour, opacity="0.15")
    curve = element(
        "polyline",
        points=path,
        stroke=line.colour,
        stroke_width=2.0,
        stroke_dasharray="5 4" if line.dashed else None,
        fill="none",
    )
    marks = [marker(line.mark, x, y, line.colour, 4.0) for x, y in places] if line.mark else None
    return join(band, curve, marks)


def interval_chart(
    title: str, description: str, rows: Sequence[Row], *, x_title: str, zero: bool = False
) -> Html:
    """Values with their intervals, one below the other.

    Args:
        title: of the picture.
        description: what it shows, with its main numbers.
        rows: from top to bottom.
        x_title: of the axis.
        zero: whether a line stands at 0.
    """
    step, top = 40.0, 10.0
    height = top + step * len(rows) + BOTTOM
    every = [x for row in rows for x in (row.value, row.low, row.high) if x is not None]
    across = Scale(*around(every, zero=zero), 14.0, WIDTH - 14.0)
    bottom = height - BOTTOM
    found = [
        [
            element("path", d=f"M{across(tick):.1f} {top:g}V{bottom:g}", class_="axis"),
            element(
                "text",
                tick_text(tick, across.ticks),
                x=across(tick),
                y=bottom + 18,
                text_anchor="middle",
                class_="soft",
            ),
        ]
        for tick in across.ticks
    ]
    if zero:
        found.append(
            [
                element(
                    "path",
                    d=f"M{across(0):.1f} {top:g}V{bottom:g}",
                    stroke="var(--ink)",
                    stroke_width=1.2,
                    fill="none",
                )
            ]
        )
    drawn = [_row(row, across, top + step * (i + 0.72), step) for i, row in enumerate(rows)]
    words = element("text", x_title, x=WIDTH / 2, y=height - 6, text_anchor="middle")
    return svg(title, description, [found, drawn, words], height=height)


def _row(row: Row, across: Scale, y: float, step: float) -> Html:
    parts: list[Html] = []
    if row.low is not None and row.high is not None:
        ends = f"M{across(row.low):.1f} {y:.1f}H{across(row.high):.1f}"
        caps = "".join(f"M{across(x):.1f} {y - 5:.1f}v10" for x in (row.low, row.high))
        parts.append(
            element("path", d=ends + caps, stroke=row.colour, stroke_width=2.0, fill="none")
        )
    parts.append(marker(row.mark, across(row.value), y, row.colour))
    shown = f"{row.label}: {row.shown}" if row.shown else row.label
    parts.append(element("text", shown, x=16.0, y=y - step * 0.3, class_="halo"))
    return join(parts)


def scatter(
    title: str,
    description: str,
    points: Sequence[Row],
    places: Sequence[float],
    *,
    x_title: str,
    y_title: str,
    budget: float | None = None,
    line_to: int | None = None,
) -> Html:
    """Values upward (with intervals) against other numbers across.

    Args:
        title: of the picture.
        description: what it shows, with its main numbers.
        points: the values.
        places: where they lie across.
        x_title: of the axis across.
        y_title: of the axis upward.
        budget: a vertical line, if there is one.
        line_to: point to which a line from the origin leads.
    """
    height = 270.0
    every = [y for row in points for y in (row.value, row.low, row.high) if y is not None]
    low, high = around(every, zero=True, room=0.1)
    right = max([*places, budget or 0.0, 1e-6]) * 1.08
    across = Scale(0.0, right, LEFT + 8, WIDTH - RIGHT - 8)
    up = Scale(low, high, height - BOTTOM, TOP + 16)
    frame = axes(across, up, x_title=x_title, y_title=y_title, height=height, x_ticks=across.ticks)
    parts: list[Html] = [
        element(
            "path",
            d=f"M{LEFT:g} {up(0):.1f}H{WIDTH - RIGHT:g}",
            stroke="var(--ink)",
            stroke_width=1.2,
            fill="none",
        )
    ]
    if budget is not None:
        d = f"M{across(budget):.1f} {up(low):.1f}V{up(high):.1f}"
        parts.append(
            element(
                "path",
                d=d,
                stroke="var(--inconclusive)",
                stroke_width=1.5,
                stroke_dasharray="4 3",
                fill="none",
            )
        )
    if line_to is not None:
        end = points[line_to]
        d = f"M{across(0):.1f} {up(0):.1f}L{across(places[line_to]):.1f} {up(end.value):.1f}"
        parts.append(element("path", d=d, stroke=end.colour, stroke_width=1.5, fill="none"))
    for x, row in zip(places, points, strict=True):
        if row.low is not None and row.high is not None:
            d = f"M{across(x):.1f} {up(row.low):.1f}V{up(row.high):.1f}"
            parts.append(element("path", d=d, stroke=row.colour, stroke_width=2.0, fill="none"))
        parts.append(marker(row.mark, across(x), up(row.value), row.colour, 6.0))
    return svg(title, description, [frame, parts], height=height)


def bars(title: str, description: str, rows: Sequence[Row], *, most: float) -> Html:
    """Horizontal bars with their numbers."""
    step = 44.0
    height = step * len(rows) + 6
    across = Scale(0.0, most or 1.0, 0.0, WIDTH)
    drawn = [
        [
            element("text", f"{row.label}: {row.shown}", x=0.0, y=step * i + 15),
            element("rect", x=0.0, y=step * i + 21, width=WIDTH, height=14.0, fill="var(--edge)"),
            element(
                "rect",
                x=0.0,
                y=step * i + 21,
                width=max(across(row.value), 1.5),
                height=14.0,
                fill=row.colour,
            ),
        ]
        for i, row in enumerate(rows)
    ]
    return svg(title, description, drawn, height=height)
