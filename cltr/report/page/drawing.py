"""What pictures are made of: marks, legends, and the frame that names and describes them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cltr.report.page.markup import Content, Html, element

WIDTH = 420.0
"""Units across; text can be read from 340 to 620 pixels."""


@dataclass(frozen=True)
class Line:
    """A curve."""

    label: str
    colour: str
    points: Sequence[tuple[float, float]]
    mark: str = ""
    """Shape at each point; none if empty."""
    dashed: bool = False
    low: Sequence[float] | None = None
    """Lower and upper ends of a band around the points."""
    high: Sequence[float] | None = None


@dataclass(frozen=True)
class Row:
    """A value with an interval."""

    label: str
    colour: str
    value: float
    low: float | None = None
    high: float | None = None
    mark: str = "circle"
    shown: str = ""
    """The number, in words."""


def figure(title: str, picture: Html, *below: Content, level: str = "h3") -> Html:
    """A picture with its title above and what it shows below."""
    return element("figure", element(level, title), picture, *below)


def svg(title: str, description: str, contents: Content, *, height: float) -> Html:
    """A picture that screen readers can name and describe."""
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        contents,
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        role="img",
        aria_label=f"{title}. {description}",
    )


def marker(shape: str, x: float, y: float, colour: str, size: float = 5.0) -> Html:
    """A mark; shapes differ, so that colour is not needed to tell them apart."""
    if shape == "circle":
        return element("circle", cx=x, cy=y, r=size, fill=colour)
    if shape == "square":
        return element("rect", x=x - size, y=y - size, width=2 * size, height=2 * size, fill=colour)
    if shape == "cross":
        arms = ((-1, -1, 2, 2), (-1, 1, 2, -2))
        ends = "".join(
            f"M{x + size * a:.1f} {y + size * b:.1f}l{size * c:.1f} {size * d:.1f}"
            for a, b, c, d in arms
        )
        return element("path", d=ends, stroke=colour, stroke_width=3.0, fill="none")
    corners = {
        "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        "triangle": ((0, -1.2), (1.2, 1), (-1.2, 1)),
        "down": ((0, 1.2), (1.2, -1), (-1.2, -1)),
    }[shape]
    points = " ".join(f"{x + size * a:.1f},{y + size * b:.1f}" for a, b in corners)
    return element("polygon", points=points, fill=colour)


def legend(entries: Iterable[tuple[str, str, str]]) -> Html:
    """Marks with their labels: label, shape (or ``line``, ``dashed``) and colour."""
    return element("ul", [_entry(*one) for one in entries], class_="legend")


def _entry(label: str, shape: str, colour: str) -> Html:
    if shape in ("line", "dashed"):
        dash = "4 3" if shape == "dashed" else None
        drawn = element(
            "path", d="M0 8H16", stroke=colour, stroke_width=2.5, stroke_dasharray=dash, fill="none"
        )
    else:
        drawn = marker(shape, 8, 8, colour)
    picture = element("svg", drawn, viewBox="0 0 16 16", aria_hidden="true")
    return element("li", picture, element("span", label))
