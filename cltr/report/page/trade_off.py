"""The trade-off between gain and worst-case loss."""

from collections.abc import Iterable, Iterator

from cltr.looks import POINT, RANKERS
from cltr.report.page.charts import scatter
from cltr.report.page.drawing import Row, figure, legend
from cltr.report.page.facts import Facts
from cltr.report.page.markup import Html, disclosure, element, table
from cltr.report.page.numbers import points, points_text, signed
from cltr.report.page.style import ranker_colour
from cltr.report.page.subject import Subject

Point = tuple[str, float, float, float | None, float | None]
"""Ranker, worst-case loss, gain, and the ends of the gain's interval."""


def trade_off_figure(subject: Subject, facts: Facts) -> Html:
    """Gain upward, worst-case loss across: this ranker, production and the alternatives."""
    if facts.gain is None or facts.worst_loss is None:
        return Html("")
    found = list(_points(subject, facts))
    rows = [
        Row(RANKERS[name].label, ranker_colour(name), gain, low, high, RANKERS[name].mark)
        for name, _, gain, low, high in found
    ]
    title = "Gain against worst-case loss"
    told = "; ".join(
        f"{RANKERS[name].label}: gain {gain:+.4f}, loss {points_text(loss)} points"
        for name, loss, gain, _, _ in found
    )
    picture = scatter(
        title,
        f"{told}. The budget is {points_text(facts.max_loss)} points.",
        rows,
        [100 * loss for _, loss, _, _, _ in found],
        x_title=f"worst-case loss in {facts.ndcg} points ({POINT}; level 0)",
        y_title=f"estimated gain in {facts.estimated_metric} (level 2)",
        budget=100 * facts.max_loss,
        line_to=next(i for i, point in enumerate(found) if point[0] == "policy"),
    )
    marks = [(row.label, row.mark, row.colour) for row in rows]
    budget = f"budget of {points_text(facts.max_loss)} points"
    return figure(
        title,
        picture,
        legend([*marks, (budget, "dashed", "var(--inconclusive)")]),
        element("p", MIXTURES, class_="note"),
        _numbers(found),
    )


MIXTURES = (
    "A share of the requests has that share of the gain and of the loss: mixtures of production "
    "and the new policy lie on the line."
)


def _numbers(found: Iterable[Point]) -> Html:
    rows = [[RANKERS[name].label, points(loss), signed(gain)] for name, loss, gain, _, _ in found]
    head = ["", "worst-case loss", "estimated gain"]
    caption = "Worst-case loss and gain of each ranker"
    return disclosure("The numbers of the picture", table(caption, head, rows))


def _points(subject: Subject, facts: Facts) -> Iterator[Point]:
    assert facts.gain is not None and facts.worst_loss is not None
    gain, loss = facts.gain, facts.worst_loss
    yield "production", 0.0, 0.0, None, None
    for one in (subject.changes or {}).get("trade_off", ()):
        if one["name"] != "policy" and one["gain"] is not None:
            yield one["name"], one["worst_case_loss"], one["gain"], None, None
    if facts.share is not None and 0 < facts.share < 1:
        yield "canary", facts.share * loss, facts.share * gain.value, None, None
    yield "policy", loss, gain.value, gain.low, gain.high
