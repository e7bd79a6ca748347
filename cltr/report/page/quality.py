"""Quality and risk: metrics and estimates with intervals, the trade-off, the learning curve."""

from collections.abc import Iterator, Mapping
from typing import Any

from cltr.looks import POINT, RANKERS, SPLITS_IN_WORDS, label, with_sign
from cltr.report.page.candidates import estimator_table
from cltr.report.page.charts import interval_chart, line_chart
from cltr.report.page.drawing import Line, Row, figure, legend
from cltr.report.page.facts import Facts, facts_of
from cltr.report.page.markup import Content, Html, element, items, join, section, table
from cltr.report.page.numbers import decimal, interval, points
from cltr.report.page.style import ranker_colour, series_colour
from cltr.report.page.subject import Subject
from cltr.report.page.trade_off import trade_off_figure

WORST_CASES = {
    "loss": "any documents relevant",
    "at_most_1": "at most 1 document relevant",
    "at_most_3": "at most 3 documents relevant",
    "largest_query": "the most affected query",
}


def quality_section(subject: Subject) -> Html:
    """How good and how risky it is."""
    facts = facts_of(subject)
    stayed = subject.judged.get("plan") == "stay"  # then there is no gain and no loss to draw
    figures = [
        *(() if stayed else (*_gains(subject, facts), trade_off_figure(subject, facts))),
        _metrics_figure(subject, facts),
        _learning(subject, facts),
    ]
    return section(
        "quality",
        "Quality and risk",
        element("div", [one for one in figures if one], class_="charts"),
        _metrics(subject, facts),
        _estimates(subject, facts),
        _worst_case(subject, facts),
    )


def _gains(subject: Subject, facts: Facts) -> Iterator[Html]:
    """The estimated gain, beside what other click models or estimators say."""
    rows = list(_gain_rows(subject, facts))
    if not rows:
        return
    title = f"Estimated gain in {facts.estimated_metric} a request"
    told = "; ".join(f"{row.label} {row.shown}" for row in rows)
    picture = interval_chart(
        title, f"{told}.", rows, x_title="gain over production (0: as good)", zero=True
    )
    note = "Level 2: it relies on the click model. "
    if subject.kind in ("gate", "canary"):
        note += "Intervals are the bounds of the verdict, and those of other click models."
    else:
        note += "Lines are 95% intervals."
    yield figure(title, picture, element("p", note, class_="note"))


def _gain_rows(subject: Subject, facts: Facts) -> Iterator[Row]:
    result, gain = subject.judged, facts.gain
    if gain is not None:
        model = result.get("click_model")
        words = f"this ranker ({model})" if model else "this ranker"
        colour = ranker_colour("policy")
        yield Row(words, colour, gain.value, gain.low, gain.high, shown=_text(gain.value))
    for other in result.get("other_click_models", ()):
        if other.get("value") is not None:
            yield Row(
                f"if users click by {other['click_model']}",
                series_colour(7),
                other["value"],
                other.get("low"),
                other.get("high"),
                "diamond",
                _text(other["value"]),
            )


def _text(value: float) -> str:
    return with_sign(value).replace("-", "−")


def _metrics_figure(subject: Subject, facts: Facts) -> Html:
    """NDCG on judgements, where there are any."""
    name = facts.ndcg.lower()
    rows = [
        Row(
            label(who),
            ranker_colour(who),
            values[name],
            mark=RANKERS[who].mark,
            shown=f"{values[name]:.4f}",
        )
        for who, values in _judged(subject).items()
        if values.get(name) is not None
    ]
    if len(rows) < 2:
        return Html("")
    title = f"{facts.ndcg} on test queries, by judgements"
    told = "; ".join(f"{row.label} {row.shown}" for row in rows)
    return figure(
        title,
        interval_chart(title, f"{told}.", rows, x_title=facts.ndcg),
        element(
            "p",
            "The mean over test queries, by the grades of the data set; no clicks are used.",
            class_="note",
        ),
    )


def _judged(subject: Subject) -> dict[str, Mapping[str, Any]]:
    """Metrics on judgements by ranker."""
    result = subject.judged
    metrics = result.get("metrics") or {}
    if "policy" in metrics:
        return {who: values for who, values in metrics.items() if who in RANKERS}
    production = result.get("production_metrics")
    found = {} if production is None else {"production": production}
    return found | ({"policy": metrics} if metrics else {})


def _learning(subject: Subject, facts: Facts) -> Html:
    """The value on validation clicks, epoch by epoch."""
    known = [
        (float(one["epoch"]), float(one["valid_value"]))
        for one in subject.history
        if one.get("valid_value") is not None
    ]
    if len(known) < 2:
        return Html("")
    best = subject.result.get("best_epoch")
    title = "Learning curve"
    colour = ranker_colour("policy")
    first, last = known[0][1], known[-1][1]
    told = f"From {first:.4f} before training to {last:.4f} after {len(known) - 1} epochs"
    picture = line_chart(
        title,
        f"{told}; epoch {best} was kept." if best is not None else f"{told}.",
        [Line("value", colour, known)],
        x_title="epoch (0: the start)",
        y_title=f"{facts.estimated_metric}, estimated",
        extra=[] if best is None else [(float(best), "var(--ink)")],
    )
    kept = [] if best is None else [(f"epoch {best}, which was kept", "dashed", "var(--ink)")]
    return figure(
        title,
        picture,
        legend([("new policy on validation clicks", "line", colour), *kept]),
        element(
            "p",
            "These clicks chose the epoch, so the curve ends too high. The gain above is "
            "from other clicks.",
            class_="note",
        ),
    )


def _metrics(subject: Subject, facts: Facts) -> Html:
    """All metrics on judgements."""
    found = _judged(subject)
    names = [
        name
        for name in next(iter(found.values()), {})
        if not name.startswith("train_") and name != "value"
    ]
    if not names or subject.kind == "candidates":
        return Html("")
    head = ["metric", *(label(who) for who in found)]
    rows = [
        [name.replace("_", " "), *(decimal(values.get(name)) for values in found.values())]
        for name in names
    ]
    judged = subject.judged.get("judged_queries")
    few = None
    if judged:
        few = element(
            "p", f"{judged[0]:,} of {judged[1]:,} test queries have judgements.", class_="note"
        )
    return join(table("Metrics on the judgements of test queries", head, rows), few)


def _estimates(subject: Subject, facts: Facts) -> Html:
    """Values by clicks: of a run, or by several estimators side by side."""
    result = subject.judged
    if "estimates" in result:
        return estimator_table(result, f"Estimates in {facts.estimated_metric} a request")
    found = result.get("off_policy")
    if found is None:
        return Html("")
    rows = [
        [
            label(who),
            decimal(found[who]["value"]),
            decimal(found[who]["standard_error"]),
            interval(found[who].get("low"), found[who].get("high")),
        ]
        for who in ("production", "policy", "difference")
    ]
    caption = (
        f"{facts.estimated_metric} a request, estimated ({found['reward']}) from "
        f"{found['n_interactions']:,} interactions"
    )
    head = ["", "value", "standard error", "95% interval"]
    return join(table(caption, head, rows, strong=1), items(_estimate_notes(found)))


def _estimate_notes(found: Mapping[str, Any]) -> Iterator[Content]:
    yield f"The intervals are for {found['difference'].get('target', 'these queries')}."
    if found.get("seen_by_training"):
        yield "These clicks also chose the epoch, so the value of the new policy is too high."
    reasons = {found[who].get("no_interval_because") for who in ("policy", "difference")} - {None}
    for reason in sorted(reasons):
        yield f"Values without an interval: {reason}."
    if found.get("fitted_click_model"):
        yield "The click model was fitted. The intervals contain its error."


def _worst_case(subject: Subject, facts: Facts) -> Html:
    """The certificate, where the result has all of it."""
    certificate = subject.judged.get("certificate")
    if not certificate:
        return Html("")
    name = f"ndcg@{facts.top_k}"
    found = {
        split: certificate[split]["worst_case"]
        for split in SPLITS_IN_WORDS
        if certificate.get(split)
    }
    if not found:
        return Html("")
    rows = [
        [words, *(points(case[name][key]) for case in found.values())]
        for key, words in WORST_CASES.items()
    ]
    caption = (
        f"Worst case: how far {facts.ndcg} could fall below production, whatever users find "
        f"relevant, in NDCG points ({POINT})"
    )
    by_traffic = any(case["query_weights"] == "traffic" for case in found.values())
    note = "Queries count by their traffic." if by_traffic else "Each query counts once."
    return join(
        table(caption, ["", *(SPLITS_IN_WORDS[split] for split in found)], rows, strong=0),
        element("p", note, class_="note"),
    )
