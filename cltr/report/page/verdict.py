"""The top of a page: the verdict, the three levels of trust with their numbers, what to do next."""

from collections.abc import Iterator, Mapping
from typing import Any

from cltr.evaluation.verdict import LEVELS
from cltr.looks import DECISIONS, POINT
from cltr.report.page.facts import Facts, facts_of
from cltr.report.page.markup import Content, Html, command, element, items, join, section
from cltr.report.page.next_steps import next_steps
from cltr.report.page.numbers import count, decimal, interval, percent, points, signed
from cltr.report.page.subject import Subject

EXPOSURE = {
    "exact": "It is computed from production's scores.",
    "logged": "Production's exposure comes from logged propensities.",
    "counted": "Production's exposure is counted from the log, so this is an estimate.",
}


def verdict_section(subject: Subject) -> Html:
    """What to do, why, and what to type."""
    facts = facts_of(subject)
    if subject.kind == "candidates":
        return section("verdict", "What this page shows", _decision(facts), _next(subject, facts))
    return section(
        "verdict",
        "Verdict" if facts.decision else "What this page shows",
        _decision(facts),
        _first_words(subject.judged),
        element("h3", "What is known, by level of trust"),
        element("div", _levels(subject, facts), class_="cards"),
        _next(subject, facts),
        _reasons(facts),
    )


def _decision(facts: Facts) -> Html:
    if facts.decision is None:
        return element("p", facts.sentence, class_="lead")
    look = DECISIONS[facts.decision]
    badge = element(
        "span",
        element("span", look.mark, aria_hidden="true"),
        f" {look.label}",
        class_=f"badge decision-{facts.decision}",
    )
    return element("p", badge, " ", facts.sentence, class_="lead")


def _first_words(result: Mapping[str, Any]) -> Html:
    """What must be said before anything else."""
    alerts = [element("p", words, class_="alert") for words in result.get("alerts", ())]
    warnings = [
        element("p", f"Warning: {words}", class_="warning") for words in result.get("warnings", ())
    ]
    return join(alerts, warnings)


def _levels(subject: Subject, facts: Facts) -> Iterator[Html]:
    yield _card("Level 0", LEVELS[0], _worst_case(subject, facts))
    yield _card("Level 1", LEVELS[1], _canary(subject))
    yield _card("Level 2", LEVELS[2], _estimate(subject, facts))
    if judged := _judgements(subject.judged, facts):
        yield _card("Judgements", "by the grades of the data set", judged)


def _card(title: str, assumption: str, contents: Content) -> Html:
    return element(
        "article",
        element("h4", title, element("span", assumption, class_="assumption")),
        contents,
        class_="card",
    )


STAYED = "The run kept production, so what is served is production."


def _stayed(subject: Subject) -> bool:
    return subject.judged.get("plan") == "stay"


def _worst_case(subject: Subject, facts: Facts) -> Iterator[Html]:
    if facts.worst_loss is None:
        yield element("p", "not known", class_="figure")
        yield element(
            "p", "Nothing is known about production, so the worst case cannot be computed."
        )
        return
    yield element("p", points(facts.worst_loss), class_="figure")
    if _stayed(subject):
        yield element("p", f"Nothing can be lost. {STAYED}")
        return
    yield element(
        "p",
        f"At worst, {facts.ndcg} falls by this much below production if all requests get the new "
        f"ranking ({POINT}). {EXPOSURE.get(facts.exposure, '')}",
    )
    if facts.share and facts.share < 1:
        loss = facts.share * facts.worst_loss
        yield element(
            "p",
            "With ",
            percent(facts.share, digits=2),
            f" of the requests it is {loss * 100:.1f} points.",
        )


def _canary(subject: Subject) -> Iterator[Html]:
    if subject.kind != "canary":
        yield element("p", "not measured", class_="figure")
        yield element("p", "This result has no outcomes of a canary.")
        return
    found = subject.result
    yield element("p", found["decision"], class_="figure")
    yield element("p", found["reasons"][0])


def _estimate(subject: Subject, facts: Facts) -> Iterator[Html]:
    gain = facts.gain
    if gain is None:
        yield element("p", "not known", class_="figure")
        yield element("p", "No clicks were used to judge this ranker.")
        return
    yield element("p", signed(gain.value), class_="figure")
    if _stayed(subject):
        yield element("p", f"Nothing is gained. {STAYED}")
        return
    yield element("p", f"Estimated gain over production in {facts.estimated_metric} a request.")
    if gain.low is None or gain.high is None:
        why = f": {gain.why_no_interval}" if gain.why_no_interval else ""
        yield element("p", f"These clicks support no interval{why}.")
    else:
        yield element(
            "p",
            interval(gain.low, gain.high),
            f" ({gain.interval_words}), from ",
            count(gain.n_interactions),
            " held-out interactions.",
        )
        if not gain.low <= gain.value <= gain.high:
            yield element(
                "p",
                "The estimate itself lies outside its bounds: rely on the bounds.",
                class_="warning",
            )
    if words := _doubt(subject.judged):
        yield element("p", words, class_="warning")


def _doubt(result: Mapping[str, Any]) -> str:
    """Whether the health checks let one rely on level 2."""
    checks = result.get("checks", ())
    failed = [check["name"] for check in checks if check["outcome"] == "fail"]
    unclear = [check["name"] for check in checks if check["outcome"] == "inconclusive"]
    if failed:
        return f"In doubt. Health checks failed: {', '.join(failed)}."
    if unclear:
        return f"In doubt. Health checks are inconclusive: {', '.join(unclear)}."
    return "" if checks else "The clicks were not checked."


def _judgements(result: Mapping[str, Any], facts: Facts) -> list[Html]:
    """NDCG on true labels, where there are any."""
    name = facts.ndcg.lower()
    metrics = result.get("metrics") or {}
    if "policy" in metrics:
        new, old = metrics["policy"].get(name), metrics["production"].get(name)
    else:
        new, old = metrics.get(name), (result.get("production_metrics") or {}).get(name)
    if new is None:
        return []
    if old is None:
        return [
            element("p", decimal(new), class_="figure"),
            element("p", f"{facts.ndcg} of the new ranking on test queries with judgements."),
        ]
    return [
        element("p", signed(new - old), class_="figure"),
        element(
            "p",
            f"{facts.ndcg} on test queries: ",
            decimal(new),
            " against ",
            decimal(old),
            " of production.",
        ),
    ]


def _next(subject: Subject, facts: Facts) -> Html:
    steps = next_steps(subject, facts)
    if not steps:
        return Html("")
    told = [
        [element("p", sentence), command(words) if words else None] for sentence, words in steps
    ]
    return element("div", element("h3", "What to do next"), told, class_="next")


def _reasons(facts: Facts) -> Html:
    if not facts.reasons:
        return Html("")
    return join(element("h3", "Why"), items(facts.reasons))
