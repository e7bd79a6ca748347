"""What may be wrong with a log from elsewhere, and what is done about it; nothing silently."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cltr.errors import DataError, UsageError
from cltr.options import did_you_mean

KEEP, DROP, REFUSE = "keep", "drop", "refuse"


@dataclass(frozen=True)
class Problem:
    """A kind of problem: what it is, what can be done about it; the default comes first."""

    what: str
    unit: str
    actions: tuple[str, ...] = (DROP, REFUSE)


PROBLEMS = {
    "missing-values": Problem("rows without query, document, position or session", "rows"),
    "bad-positions": Problem(
        "positions that are no whole number or lie before the first", "rows", (REFUSE, DROP)
    ),
    "no-first-position": Problem(
        "nothing was ever shown at the first position", "empty positions", (REFUSE, KEEP)
    ),
    "unknown-clicks": Problem(
        "clicks that are neither yes nor no; kept, they count as no", "rows", (REFUSE, DROP, KEEP)
    ),
    "repeated-clicks": Problem(
        "several clicks on one impression, counted once", "rows", (KEEP, REFUSE)
    ),
    "beyond-top-k": Problem("positions below the ranks that are kept", "rows"),
    "duplicates": Problem("documents or positions that come twice in an interaction", "rows"),
    "clicks-without-impression": Problem("clicks on documents that were not shown", "rows"),
    "gaps": Problem(
        "interactions whose positions leave some out", "interactions", (KEEP, DROP, REFUSE)
    ),
    "unknown-documents": Problem(
        "impressions of documents that the data set does not hold", "rows"
    ),
    "test-queries": Problem(
        "impressions on test queries of the data set; kept, they are the test part",
        "rows",
        (KEEP, DROP, REFUSE),
    ),
    "unshown-documents": Problem("documents that were never shown", "documents", (KEEP, REFUSE)),
    "bad-propensities": Problem("propensities outside (0, 1]", "rows", (REFUSE, KEEP)),
    "varying-scores": Problem(
        "documents whose logged score changes; kept, scores are not used",
        "documents",
        (KEEP, REFUSE),
    ),
    "missing-scores": Problem(
        "documents without a score; kept, scores are not used", "documents", (KEEP, REFUSE)
    ),
}


def parse_actions(words: Iterable[str]) -> dict[str, str]:
    """``problem=action`` words to actions; ``all`` stands for every problem that knows the action.

    Example:
        >>> parse_actions(["gaps=drop", "duplicates=refuse"])
        {'gaps': 'drop', 'duplicates': 'refuse'}
    """
    chosen: dict[str, str] = {}
    for word in words:
        name, equals, action = word.partition("=")
        if not equals or action not in (KEEP, DROP, REFUSE):
            raise UsageError(f"--on {word}: expected problem=keep, drop or refuse, as gaps=drop")
        if name == "all":
            able = (one for one, problem in PROBLEMS.items() if action in problem.actions)
            chosen |= dict.fromkeys(able, action)
        elif name not in PROBLEMS:
            raise UsageError(
                f"--on {word}: no problem '{name}'; there are: {', '.join(PROBLEMS)}"
                + did_you_mean(name, PROBLEMS)
            )
        elif action not in PROBLEMS[name].actions:
            possible = " or ".join(PROBLEMS[name].actions)
            raise UsageError(f"--on {word}: what can be done about {name} is {possible}")
        else:
            chosen[name] = action
    return chosen


@dataclass
class Problems:
    """The problems of one log, counted as they are found."""

    where: str
    actions: Mapping[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def action(self, name: str) -> str:
        """What is to be done about a problem."""
        return self.actions.get(name, PROBLEMS[name].actions[0])

    def found(
        self,
        name: str,
        count: int | None,
        *,
        example: Callable[[], str] = lambda: "",
        hint: str = "",
    ) -> str:
        """Count a problem; returns what to do about it, or raises if it is to be refused.

        Args:
            name: of the problem.
            count: how many there are; none is no problem.
            example: says where one of them is.
            hint: what may be behind it.
        """
        if not count:
            return KEEP
        problem = PROBLEMS[name]
        self.counts[name] = self.counts.get(name, 0) + int(count)
        action = self.action(name)
        if action == REFUSE:
            other = [word for word in problem.actions if word != REFUSE]
            advice = f"say --on {name}={other[0]}" if other else "mend the log"
            place = example()
            such = f", such as {place}" if place else ""
            because = f"; {hint}; or" if hint else ";"
            raise DataError(
                f"{self.where}: {problem.what} ({count:,} {problem.unit}{such}){because} {advice}"
            )
        return action

    def table(self) -> list[dict[str, Any]]:
        """What was found, with what was done about it."""
        return [
            {
                "problem": name,
                "count": count,
                "unit": PROBLEMS[name].unit,
                "action": self.action(name),
                "what": PROBLEMS[name].what,
            }
            for name, count in self.counts.items()
        ]
