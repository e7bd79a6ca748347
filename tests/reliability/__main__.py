"""Attack cltr at length, and keep count.

    python -m tests.reliability --fuzz 10000     # damaged inputs
    python -m tests.reliability --kills 500      # commands killed at random moments
    python -m tests.reliability --faults         # full disks, limits, missing rights
    python -m tests.reliability --table          # what has been counted, as Markdown

Counts go to docs/reliability-*.json. Interrupt it at any time: the same command resumes. The number
of a trial decides all that is random in it, so that a trial can be repeated.
"""

import argparse
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.reliability.faults import all_faults
from tests.reliability.killing import kill
from tests.reliability.watching import fuzz

DOCS = Path(__file__).parents[2] / "docs"
EVERY = 20
"""Trials after which counts are written."""
MOST_TOLD = 100
"""Trials that went wrong, of which all is kept."""


def attack(name: str, count: int, trials: Callable[..., Iterator[Any]]) -> None:
    """Run what is missing of so many trials, and count outcomes."""
    path = DOCS / f"reliability-{name}.json"
    known: dict[str, Any] = {"tried": 0, "survived": 0, "slowest": 0.0, "commits": {}}
    known |= {"by": {}, "wrong": []}
    if path.exists():
        known = json.loads(path.read_text())
    commit = _commit()
    for trial in trials(max(count - known["tried"], 0), first=known["tried"]):
        known["tried"] += 1
        known["survived"] += trial.survived
        known["commits"][commit] = known["commits"].get(commit, 0) + 1
        known["slowest"] = max(known["slowest"], round(getattr(trial, "seconds", 0.0), 2))
        counts = known["by"].setdefault(trial[0], {})
        counts[trial.outcome] = counts.get(trial.outcome, 0) + 1
        if not trial.survived and len(known["wrong"]) < MOST_TOLD:
            known["wrong"].append([*trial])
        if known["tried"] % EVERY == 0 or known["tried"] >= count:
            path.write_text(json.dumps(known, indent=1) + "\n")


def _commit() -> str:
    """What is attacked: the commit of the code, and whether it was changed since."""

    def git(*words: str) -> str:
        return subprocess.check_output(["git", *words], text=True, cwd=DOCS)

    changed = git("status", "--porcelain", "--", "../cltr", "../plugins", "../tests/reliability")
    return git("rev-parse", "--short=10", "HEAD").strip() + (", changed" if changed else "")


def table(name: str) -> Iterator[str]:
    """Counts as Markdown."""
    path = DOCS / f"reliability-{name}.json"
    if not path.exists():
        return
    known = json.loads(path.read_text())
    yield f"| {name} | tried | survived | how |"
    yield "|---|---:|---:|---|"
    for what, counts in known["by"].items():
        good = ("used", "refused", "finished before", "interrupted", "killed", "as it should")
        survived = sum(n for outcome, n in counts.items() if outcome in good)
        how = ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items()))
        yield f"| {what} | {sum(counts.values()):,} | {survived:,} | {how} |"
    yield f"| **all** | **{known['tried']:,}** | **{known['survived']:,}** | |"
    yield ""


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability")
    parser.add_argument("--fuzz", type=int, default=0, metavar="N", help="damaged inputs in all")
    parser.add_argument("--kills", type=int, default=0, metavar="N", help="kills in all")
    parser.add_argument("--faults", action="store_true", help="every fault")
    parser.add_argument("--table", action="store_true", help="print what was counted")
    asked = parser.parse_args()
    if asked.fuzz:
        attack("fuzz", asked.fuzz, fuzz)
    if asked.kills:
        attack("kills", asked.kills, kill)
    if asked.faults:
        (DOCS / "reliability-faults.json").unlink(missing_ok=True)
        attack("faults", 0, lambda count, first: all_faults())
    if asked.table:
        print("\n".join(line for name in ("fuzz", "kills", "faults") for line in table(name)))  # noqa: T201


if __name__ == "__main__":
    main()
