"""What to do after a verdict: a sentence and the command, from what the result says."""

import shlex
from collections.abc import Iterator
from typing import Any

from cltr.data.loading import DEMO
from cltr.experiment.run_log import OWN
from cltr.report.page.facts import Facts
from cltr.report.page.subject import Subject

Step = tuple[str, str]
"""Why, and the command; the command may be empty."""
REQUESTS = "requests.csv"
"""What the log of a canary is called in commands."""


def next_steps(subject: Subject, facts: Facts) -> list[Step]:
    """What to do next, the first thing first."""
    ways = {
        "deploy": _deploy,
        "canary": _canary,
        "hold": _doubt,
        "reject": _doubt,
        "ship": _deploy,
        "continue": _go_on,
        "stop": _doubt,
    }
    found = ways[facts.decision](subject, facts) if facts.decision in ways else _decide(subject)
    return list(found)


def _deploy(subject: Subject, facts: Facts) -> Iterator[Step]:
    run = _run_of(subject)
    if run is None:
        yield (
            "The candidate comes from elsewhere: serve it to all requests as you serve rankers.",
            "",
        )
        return
    if _simulated(subject):
        yield from _real_log()
        return
    if subject.kind == "run":
        yield (
            "Ask the gate, whose bounds hold for any number of interactions.",
            _gate_command(subject, subject.name, *_budget(facts)),
        )
    yield "Write the ranker for your search engine.", f"cltr export {_word(run)} --to onnx"
    yield (
        "Or rank queries with cltr. The run's serving.json says which share of the requests gets "
        "the new ranker.",
        f"cltr rank {_word(run)} --out rankings.parquet",
    )


def _canary(subject: Subject, facts: Facts) -> Iterator[Step]:
    if _simulated(subject):
        yield from _real_log()
        return
    share = f"{facts.share or 0.0:.2%}"
    yield (
        f"Serve the new ranking to {share} of the requests, log the outcome of every request "
        f"(arm, share, clicks) in a table such as {REQUESTS}, and ask again.",
        _canary_command(subject, facts),
    )


def _go_on(subject: Subject, facts: Facts) -> Iterator[Step]:
    yield (
        "Let the canary go on with this share, and ask again with more requests.",
        _canary_command(subject, facts),
    )


def _doubt(subject: Subject, facts: Facts) -> Iterator[Step]:
    """Production stays: what the checks advise, then where to look."""
    del facts
    for check in subject.judged.get("checks", ()):
        if check["outcome"] == "fail" and check["advice"]:
            yield f"{check['name'].capitalize()}: {check['advice']}", ""
    log = _log(subject)
    if log:
        yield "See what the log can be used for.", f"cltr check {_word(log)}"
    elif _simulated(subject):
        yield from _real_log()


def _decide(subject: Subject) -> Iterator[Step]:
    log = _log(subject)
    if subject.kind == "candidates" and log:
        first = subject.result["candidates"][0]["candidate"]
        yield "Decide about one of them.", _gate_command(subject, first)
    elif log:
        yield "Decide about this ranker.", _gate_command(subject, subject.name)
    else:
        yield (
            "Decide about this ranker by a log of production.",
            _gate_command(subject, subject.name),
        )


def _canary_command(subject: Subject, facts: Facts) -> str:
    return _gate_command(subject, subject.name, *_budget(facts), "--canary", REQUESTS)


def _budget(facts: Facts) -> tuple[str, str]:
    return "--max-loss", f"{facts.max_loss:g}"


def _gate_command(subject: Subject, candidate: str, *more: str) -> str:
    words = ["cltr", "gate", candidate, "--log", _log(subject) or "log.h5"]
    data = subject.judged.get("data") or subject.config.get("data")
    if data and data not in (DEMO, OWN):
        words += ["--data", str(data)]
    return " ".join(map(_word, [*words, *more]))


def _real_log() -> Iterator[Step]:
    yield (
        "The clicks of this run were simulated, so the verdict is about these users. Import a "
        "click log of your own and train on it.",
        "cltr ingest clicks.parquet --out log.h5",
    )


def _simulated(subject: Subject) -> bool:
    """Whether a run drew its clicks itself."""
    return subject.kind in ("run", "evaluation") and not _log(subject)


def _log(subject: Subject) -> str:
    found: Any = subject.judged.get("log") or subject.config.get("log") or ""
    return str(found)


def _run_of(subject: Subject) -> str | None:
    """The run folder, if the ranker is one of ours."""
    if subject.kind in ("run", "evaluation"):
        return str(subject.judged.get("run", subject.name))
    table = subject.judged.get("scores") is not None
    unchanged = subject.judged.get("serving") == "as it is"
    return None if table or unchanged else subject.name


def _word(text: str) -> str:
    return shlex.quote(text)
