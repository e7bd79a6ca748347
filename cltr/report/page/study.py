"""A study on a page: methods over numbers of interactions, or the safety panel."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from cltr.looks import POINT, label
from cltr.report.page.charts import interval_chart, line_chart
from cltr.report.page.drawing import Line, Row, figure, legend
from cltr.report.page.markup import (
    Content,
    Html,
    element,
    items,
    join,
    name_of,
    section,
    shortened,
    table,
)
from cltr.report.page.numbers import count, decimal, percent, points
from cltr.report.page.style import series_colour
from cltr.report.page.subject import Subject

MARKS = ("circle", "square", "diamond", "triangle", "down", "cross")
MOST_FAILURES = 20
PANEL = {
    "as_assumed": "users as assumed, mean",
    "otherwise": "other users, mean",
    "otherwise_worst": "other users, worst",
    "random_worst": "random clicks, worst",
    "adversarial_worst": "adversarial clicks, worst",
}


def study_sections(subject: Subject) -> Html:
    """All that a study found."""
    result = subject.result
    return join(_summary(result), _panel(result) if "curves" not in result else _curves(result))


def _summary(result: Mapping[str, Any]) -> Html:
    """How many runs there were, which statements hold, and what failed."""
    told: list[Content] = [
        [
            count(result["cells"]),
            " runs on ",
            name_of(str(result["data"])),
            ", ",
            count(len(result["seeds"])),
            " seeds, ",
            f"{result['interactions'][0]:,} to {result['interactions'][-1]:,} interactions.",
        ]
    ]
    failed = result.get("failed", [])
    if failed:
        told.append(f"{len(failed)} runs failed; they are left out of all numbers.")
    return section(
        "study",
        str(result.get("title") or "What was compared")[:200],
        [element("p", words) for words in told],
        _statements(result.get("statements", ())),
        _failures(failed[:MOST_FAILURES]),
    )


def _statements(found: Iterable[Mapping[str, Any]]) -> Html | None:
    told = [
        [
            element("strong", "holds" if one["holds"] else "fails"),
            f": {one['claim']} ",
            element("span", one["numbers"], class_="note"),
        ]
        for one in found
    ]
    return join(element("h3", "Statements"), items(told)) if told else None


def _failures(failed: Iterable[Mapping[str, Any]]) -> Html | None:
    told = [
        shortened(
            f"{one['method']}, {one['interactions']} interactions, seed {one['seed']}: "
            f"{one['error']}",
            300,
        )
        for one in failed
    ]
    return join(element("h3", "Failed runs"), items(told)) if told else None


def _curves(result: Mapping[str, Any]) -> Html:
    return section(
        "curves",
        "Methods over interactions",
        element(
            "div", [_picture(result, *one) for one in result["curves"].items()], class_="charts"
        ),
        [_table(result, *one) for one in result["curves"].items()],
    )


def _picture(result: Mapping[str, Any], users: str, curves: Mapping[str, Any]) -> Html:
    n, measure = result["interactions"], result["measure"].upper()
    lines = [
        Line(
            name, series_colour(number), list(_known(n, curve["mean"])), MARKS[number % len(MARKS)]
        )
        for number, (name, curve) in enumerate(curves.items())
    ]
    for number, (name, one) in enumerate(result["references"].items()):
        if _number(one["mean"]):
            ends = [(float(n[0]), one["mean"]), (float(n[-1]), one["mean"])]
            lines.append(Line(name, f"var(--{'soft' if number else 'ink'})", ends, dashed=True))
    lines = [line for line in lines if line.points]
    if not lines:
        return Html("")
    title = f"{measure}, users {users[:60]}"
    told = "; ".join(f"{line.label} ends at {line.points[-1][1]:.4f}" for line in lines)
    many = len(n) > 1
    picture = line_chart(
        title, f"{told}.", lines, x_title="training interactions", y_title=measure, logarithmic=many
    )
    entries = [(line.label[:60], line.mark or "dashed", line.colour) for line in lines]
    return figure(title, picture, legend(entries))


def _known(n: list[int], values: list[float | None]) -> Iterator[tuple[float, float]]:
    for at, value in zip(n, values, strict=True):
        if _number(value) and value is not None:
            yield float(at), float(value)


def _number(value: float | None) -> bool:
    return value is not None and isfinite(value)


def _table(result: Mapping[str, Any], users: str, curves: Mapping[str, Any]) -> Html:
    """Mean and half width of the interval."""
    n = result["interactions"]
    shown = sorted({round(i * (len(n) - 1) / 7) for i in range(8)}) if len(n) > 8 else range(len(n))
    rows = [
        [name_of(name), *(_cell(one["mean"], one["high"]) for _ in shown)]
        for name, one in result["references"].items()
    ]
    rows += [
        [name_of(name), *(_cell(curve["mean"][i], curve["high"][i]) for i in shown)]
        for name, curve in curves.items()
    ]
    several = len(result["seeds"]) > 1
    interval = f", ± half width of the {result['interval']:.0%} prediction interval"
    caption = f"{result['measure'].upper()}, users {users[:60]}: mean over seeds" + (
        interval if several else ""
    )
    return table(caption, ["method", *(f"{n[i]:,}" for i in shown)], rows)


def _cell(mean: float | None, high: float | None) -> Content:
    if mean is None or not isfinite(mean):
        return "none"
    if high is None or not isfinite(high) or high == mean:
        return decimal(mean)
    return [decimal(mean), f" ±{high - mean:.3f}"]


def _panel(result: Mapping[str, Any]) -> Html:
    """The safety panel: gains over production by method and kind of users."""
    lines = result["methods"]
    rows = [
        [
            name_of(label(one["method"])),
            *(_share(one.get(key)) for key in PANEL),
            percent(one["runs_below"]),
            points(one["worst_case"]),
        ]
        for one in lines
    ]
    head = [
        "method",
        *PANEL.values(),
        "runs below production",
        f"worst-case loss in NDCG points ({POINT})",
    ]
    return section(
        "panel",
        "Safety panel",
        element("div", _adversarial(lines), class_="charts"),
        table(f"Gain in {result['measure'].upper()} over production", head, rows),
    )


def _adversarial(lines: Sequence[Mapping[str, Any]]) -> Html | None:
    """The worst gain of each method under adversarial clicks, as a picture."""
    worst = [
        Row(
            label(one["method"])[:60],
            series_colour(number),
            100 * one["adversarial_worst"],
            mark=MARKS[number % len(MARKS)],
            shown=f"{100 * one['adversarial_worst']:+.1f}%",
        )
        for number, one in enumerate(lines)
        if _number(one.get("adversarial_worst"))
    ]
    if not worst:
        return None
    title = "Worst gain under adversarial clicks"
    told = "; ".join(f"{row.label} {row.shown}" for row in worst)
    chart = interval_chart(title, f"{told}.", worst, x_title="gain over production, %", zero=True)
    return figure(title, chart)


def _share(value: float | None) -> Content:
    return "none" if value is None else percent(value)
