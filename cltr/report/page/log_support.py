"""What the clicks support: rates by rank, the click model's fit, overlap, effective sample."""

from collections.abc import Iterator, Mapping
from typing import Any

from cltr.report.page.charts import bars, line_chart
from cltr.report.page.drawing import Line, Row, figure, legend
from cltr.report.page.markup import Content, Html, element, items, section, table
from cltr.report.page.numbers import count, decimal, percent
from cltr.report.page.style import ranker_colour, series_colour
from cltr.report.page.subject import Subject


def support_section(subject: Subject) -> Html:
    """How much the clicks can say."""
    result = subject.judged
    figures = [_click_rates(subject), _worth(result)]
    return section(
        "log",
        "What the clicks support",
        element("div", [one for one in figures if one], class_="charts"),
        items(_overlap(result)),
        _click_model(result),
    )


def _click_rates(subject: Subject) -> Html:
    """Clicks per impression of held-out clicks by rank, beside what the click model expects."""
    found = (subject.changes or {}).get("click_rates")
    if not subject.changes or not found or not any(found["impressions"]):
        return Html("")
    lines = list(_rate_lines(found))
    told = "; expected ".join(
        ", ".join(f"rank {rank:g} {rate:.3f}" for rank, rate in line.points) for line in lines
    )
    title = "Clicks per impression, by rank"
    ranks = [rank for rank, _ in lines[0].points]
    words = (
        f"held-out clicks ({subject.changes['interactions']:,} interactions)",
        "what the click model expects there",
    )
    marks = zip(words, ("circle", "diamond"), lines, strict=False)
    return figure(
        title,
        line_chart(
            title,
            f"{told}.",
            lines,
            x_title="rank",
            y_title="clicks per impression",
            zero=True,
            ticks=ranks[:: max(1, -(-len(ranks) // 10))],
        ),
        legend([(what, mark, line.colour) for what, mark, line in marks]),
        element("p", EXPECTED, class_="note") if len(lines) > 1 else None,
    )


EXPECTED = (
    "The model is given each document's clicks at all ranks together. Where the curves differ, "
    "users look at ranks otherwise than the model says."
)


def _rate_lines(found: Mapping[str, Any]) -> Iterator[Line]:
    """Clicks per impression by rank, and what the click model expects if it is known."""
    shown = [(rank, n) for rank, n in enumerate(found["impressions"]) if n]
    seen = [(rank + 1.0, found["clicks"][rank] / n) for rank, n in shown]
    yield Line("clicks", ranker_colour("policy"), seen, "circle")
    if found["expected_clicks"] is not None:
        expected = [(rank + 1.0, found["expected_clicks"][rank] / n) for rank, n in shown]
        yield Line("expected", series_colour(1), expected, "diamond", dashed=True)


def _worth(result: Mapping[str, Any]) -> Html:
    """What the log is worth for this ranker."""
    off_policy, support = result.get("off_policy"), result.get("support")
    if off_policy is not None and off_policy.get("effective_interactions") is not None:
        n, worth = off_policy["n_interactions"], off_policy["effective_interactions"]
        units = "interactions"
    elif support is not None and result.get("gain"):
        n, worth = result["gain"]["n_interactions"], support["effective_sample"]
        units = "interactions"
    else:
        return Html("")
    title = "What the held-out clicks are worth"
    rows = [
        Row(f"held-out {units}", ranker_colour("production"), n, shown=f"{n:,}"),
        Row(
            f"equal {units} for this ranker", ranker_colour("policy"), worth, shown=f"{worth:,.0f}"
        ),
    ]
    told = f"{n:,} held-out interactions say as much as {worth:,.0f} equal ones for this ranker."
    note = "The further a ranker is from production, the fewer equal interactions remain (Kish)."
    return figure(
        title, bars(title, told, rows, most=max(n, worth)), element("p", note, class_="note")
    )


def _overlap(result: Mapping[str, Any]) -> Iterator[Content]:
    found = result.get("off_policy") or {}
    support = result.get("support") or {}
    weight = found.get("largest_weight", support.get("largest_weight"))
    if weight is not None:
        yield ["The largest weight of a click is ", decimal(weight, digits=1), "."]
    if support.get("unsupported") is not None:
        yield [
            percent(support["unsupported"]),
            " of the ranker's exposure is on documents that production never shows.",
        ]
    if found.get("queries") is not None:
        yield [
            count(found["queries"]),
            " queries have held-out clicks; the largest one has ",
            percent(found["largest_query_share"]),
            " of these interactions.",
        ]
    if found.get("one_query_dominates"):
        yield "One query dominates: the estimates say little about other queries."
    if result.get("unsupported_documents"):
        yield [
            f"The safe bound leaves out {result['unsupported_documents']:,} documents that "
            "production never shows."
        ]


def _click_model(result: Mapping[str, Any]) -> list[Html]:
    """Which click model, how it was chosen, and whether held-out clicks agree with it."""
    sentences: list[str] = list(result.get("click_model_notes", ()))
    misfit = result.get("misfit")
    if misfit:
        if not misfit["tested"]:
            sentences.append(f"The click model was not tested: {misfit['finding']}.")
        elif misfit["rejected"]:
            sentences.append(f"Held-out clicks reject the click model: {misfit['finding']}.")
        else:
            sentences.append(
                "Held-out clicks do not reject the click model. They differ most here: "
                f"{misfit['finding']}."
            )
    if not sentences and not result.get("click_model"):
        return []
    name = result.get("click_model")
    first = [element("p", f"Clicks are corrected for the click model: {name}.")] if name else []
    found = [element("h3", "The click model"), *first, items(map(_sentence, sentences))]
    choice = result.get("click_model_choice")
    if choice and choice.get("candidates"):
        rows = [
            [one["name"], decimal(one["log_likelihood"]), one.get("reason") or ""]
            for one in choice["candidates"]
        ]
        found.append(
            table(
                "Click models that were fitted, by held-out clicks",
                ["model", "log-likelihood an interaction", "left out because"],
                rows,
            )
        )
    return found


def _sentence(words: str) -> str:
    """With a capital letter."""
    return words[:1].upper() + words[1:]
