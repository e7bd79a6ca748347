"""Counts of attacks: kept in docs/reliability-*.json, shown in docs/reliability.md."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.page_tables import write_table

DOCS = Path(__file__).parents[2] / "docs"
PAGE, PLACE = DOCS / "reliability.md", "counts"
ATTACKS = {
    "fuzz": "damaged inputs",
    "kills": "kills",
    "pairs": "pairs with the same output",
    "faults": "commands under a fault",
}
EVERY = 20
"""Trials after which counts are written."""
MOST_TOLD = 100
"""Trials that went wrong, of which all is kept."""


def attack(name: str, count: int | None, trials: Callable[..., Iterator[Any]]) -> None:
    """Run what is missing of so many trials, and count outcomes.

    Args:
        name: of the attack.
        count: of trials in all; None for an attack that is always made as a whole.
        trials: called with a number of trials and ``first``, or with nothing.
    """
    path = _file(name)
    known: dict[str, Any] = {"tried": 0, "survived": 0, "slowest": 0.0, "commits": {}}
    known |= {"by": {}, "wrong": []}
    if count is not None and path.exists():
        known = json.loads(path.read_text())
    first = known["tried"]
    made = trials() if count is None else trials(max(count - first, 0), first=first)
    commit = _commit()
    for trial in made:
        _count(known, trial, commit)
        if known["tried"] % EVERY == 0:
            _write(path, known)
    _write(path, known)


def _count(known: dict[str, Any], trial: Any, commit: str) -> None:
    known["tried"] += 1
    known["survived"] += trial.survived
    known["commits"][commit] = known["commits"].get(commit, 0) + 1
    known["slowest"] = max(known["slowest"], round(getattr(trial, "seconds", 0.0), 2))
    counts = known["by"].setdefault(trial[0], {})
    outcome = trial.outcome if trial.survived else f"**{trial.outcome.split(':')[0]}**"
    counts[outcome] = counts.get(outcome, 0) + 1
    if not trial.survived and len(known["wrong"]) < MOST_TOLD:
        known["wrong"].append([*trial])


def _write(path: Path, known: dict[str, Any]) -> None:
    path.write_text(json.dumps(known, indent=1) + "\n")


def _file(name: str) -> Path:
    return DOCS / f"reliability-{name}.json"


def _commit() -> str:
    """What is attacked: the commit of the code, and whether it was changed since."""

    def git(*words: str) -> str:
        return subprocess.check_output(["git", *words], text=True, cwd=DOCS)

    changed = git("status", "--porcelain", "--", "../cltr", "../plugins", "../tests/reliability")
    return git("rev-parse", "--short=10", "HEAD").strip() + (", changed" if changed else "")


def tables() -> str:
    """All counts as Markdown."""
    known = {name: json.loads(_file(name).read_text()) for name in ATTACKS if _file(name).exists()}
    lines = [
        f"- **{one['tried']:,} {ATTACKS[name]}** tried, **{one['survived']:,} survived**; code of "
        + ", ".join(f"`{commit}` ({n:,})" for commit, n in one["commits"].items())
        for name, one in known.items()
    ]
    for name, one in known.items():
        lines += ["", *_table(name, one)]
    return "\n".join(lines)


def _table(name: str, known: dict[str, Any]) -> Iterator[str]:
    yield f"| {ATTACKS[name]} | tried | survived | how |"
    yield "|---|---:|---:|---|"
    for what, counts in known["by"].items():
        survived = sum(n for outcome, n in counts.items() if not outcome.startswith("**"))
        how = ", ".join(f"{n:,} {outcome}" for outcome, n in sorted(counts.items()))
        yield f"| {what} | {sum(counts.values()):,} | {survived:,} | {how} |"


def fill() -> None:
    """Write the counts into the page."""
    write_table(PAGE, PLACE, tables())
