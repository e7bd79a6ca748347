"""How it was made: assumptions, checks, configuration, versions, fingerprints, the command."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from cltr.looks import OUTCOMES
from cltr.report.page.markup import (
    Content,
    Html,
    command,
    disclosure,
    element,
    items,
    join,
    name_of,
    section,
    shortened,
    table,
)
from cltr.report.page.subject import Subject

PLANS = {
    "learn": "The policy was learned without a narrow band.",
    "narrow": "Because of the checks the policy was learned in a narrow band around production.",
    "stay": "Because of the checks nothing was learned: the policy is production.",
}


def making_section(subject: Subject) -> Html:
    """All that one needs to judge and to repeat it."""
    return section(
        "making",
        "How it was made",
        _assumptions(subject),
        _checks(subject.judged),
        _repeat(subject),
        _configuration(subject),
        _versions(subject),
    )


def _assumptions(subject: Subject) -> Html:
    told = [f"{words[:1].upper()}{words[1:]}." for words in _assumed(subject.judged)]
    notes = [str(words) for words in subject.judged.get("notes", ())]
    found = items(shortened(words, 600) for words in [*told, *notes])
    if not found:
        return Html("")
    return join(element("h3", "Assumptions and notes"), found)


def _assumed(result: Mapping[str, Any]) -> Iterator[str]:
    for words in result.get("assumptions", ()):
        yield str(words).rstrip(".")
    if result.get("users") and not result.get("assumptions"):
        yield f"Clicks are those of simulated users ({result['users']})"
    if result.get("estimator") and result.get("init") == "production":
        yield "Training starts at production"


def _checks(result: Mapping[str, Any]) -> Html:
    checks = result.get("checks", ())
    if "cells" in result:  # a study: its runs have checks of their own
        return Html("")
    title = element("h3", "Health checks of the clicks")
    if not checks:
        return join(title, element("p", "No health checks were made."))
    rows = [
        [
            check["name"],
            _outcome(check["outcome"]),
            f"{check['sentence']} {check['advice']}".strip(),
        ]
        for check in checks
    ]
    plan = result.get("plan")
    words = element("p", PLANS[plan]) if plan in ("narrow", "stay") else None
    return join(
        title,
        table(
            "Made on training and validation clicks; checks of the new ranker also use held-out "
            "clicks",
            ["check", "outcome", "what was found"],
            rows,
            words=3,
        ),
        words,
    )


def _outcome(name: str) -> Html:
    look = OUTCOMES[name]
    return element(
        "span",
        element("span", look.mark, aria_hidden="true"),
        f" {look.label}",
        class_=f"outcome outcome-{name}",
    )


def _repeat(subject: Subject) -> Html:
    words = _command(subject)
    if words is None:
        return Html("")
    told = "This command repeats it, with the same data and versions."
    return join(element("h3", "Repeat it"), element("p", told), command(words))


def _command(subject: Subject) -> str | None:
    if subject.kind == "run":
        return shlex.join(["cltr", "train", "--config", f"{subject.name}/run.toml"])
    if subject.kind == "study":
        study = f"{subject.name}/study.toml"
        return shlex.join(["cltr", "compare", study, "--out", f"{subject.name}-again"])
    if subject.kind == "evaluation":
        return shlex.join(["cltr", "evaluate", str(subject.result["run"])])
    found = (subject.judged.get("made_from") or {}).get("command")
    return None if found is None else str(found)


def _configuration(subject: Subject) -> Html:
    rows = [
        [name_of(key), name_of(value, most=300)]
        for key, value in _flat(subject.config)
        if not key.startswith("provenance.")
    ]
    if not rows:
        return Html("")
    return join(
        element("h3", "Configuration"),
        disclosure(
            f"{len(rows)} settings of the run file",
            table("As run.toml has them", ["setting", "value"], rows, words=2),
        ),
    )


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value)


def _versions(subject: Subject) -> Html:
    made: Mapping[str, Any] = subject.judged.get("made_from") or subject.config.get(
        "provenance", {}
    )
    versions = dict(made.get("versions", subject.judged.get("versions", {})))
    rows: list[list[Content]] = []
    if made.get("data"):
        rows.append(["fingerprint of the data", name_of(str(made["data"]))])
    rows += [
        [join("fingerprint of ", name_of(str(name))), name_of(str(mark))]
        for name, mark in made.get("click_models", {}).items()
    ]
    if made.get("python"):
        rows.append(["Python", str(made["python"])])
    rows += [[name_of(str(name)), name_of(str(version))] for name, version in versions.items()]
    if not rows:
        return Html("")
    return join(
        element("h3", "Data and versions"),
        table("What it depends on", ["what", "version or fingerprint"], rows, words=2),
    )
