"""What may be wrong with a log from elsewhere, and what is done about it; nothing silently."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cltr.errors import DataError, UsageError
from cltr.options import did_you_mean

KEEP, DROP, REFUSE = "keep", "drop", "refuse"
DONE = {KEEP: "kept", DROP: "dropped"}
"""What was done, in words."""
FEW = 0.01
"""Share of a log that may be dropped without asking."""


@dataclass(frozen=True)
class Problem:
    """A kind of problem: what it is, what can be done about it; the default comes first."""

    what: str
    unit: str
    actions: tuple[str, ...] = (DROP, REFUSE)
    limit: float = 1.0
    """Share above which it is refused, unless ``--on`` says what to do."""


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
    "repeated-rows": Problem(
        "rows that repeat another row of the interaction, counted once", "rows", limit=FEW
    ),
    "conflicts": Problem(
        "interactions whose rows contradict each other: two documents at one position, or one "
        "document both clicked and not clicked",
        "interactions",
        limit=FEW,
    ),
    "repeated-documents": Problem(
        "documents at several positions of an interaction; the first position counts",
        "rows",
        limit=FEW,
    ),
    "only-clicks": Problem(
        "hardly any impression without a click: documents that were shown and not clicked are "
        "missing, and without them no click rate is known",
        "rows",
        (REFUSE, KEEP),
    ),
    "no-first-click": Problem(
        "clicks, and none on the first position: clicks may be counted from another position than "
        "documents",
        "clicks",
        (REFUSE, KEEP),
    ),
    "clicks-without-impression": Problem(
        "clicks on documents that were not shown", "clicks", limit=FEW
    ),
    "gaps": Problem(
        "interactions whose positions leave some out", "interactions", (KEEP, DROP, REFUSE)
    ),
    "unreadable-times": Problem(
        "times that cannot be read; kept, such interactions are for training where the split is by "
        "time",
        "rows",
        (KEEP, DROP, REFUSE),
        limit=FEW,
    ),
    "outside-window": Problem("interactions outside of --from and --until", "rows"),
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
    "varying-propensities": Problem(
        "queries whose propensities vary or add up to more than 1, as those of several policies do "
        "(--logger-column); kept, exposure is counted there",
        "queries",
        (KEEP, REFUSE),
    ),
    "shared-interactions": Problem(
        "interactions that several of the merged logs hold; kept, they count twice",
        "interactions",
        (REFUSE, KEEP),
    ),
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
        >>> parse_actions(["gaps=drop", "conflicts=refuse"])
        {'gaps': 'drop', 'conflicts': 'refuse'}
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
            raise UsageError(f"--on {word}: {name} can only be set to {possible}")
        else:
            chosen[name] = action
    return chosen


@dataclass(frozen=True)
class _Refusal:
    """A problem that is refused: what it is, what may be behind it, and what accepts it."""

    told: str
    hint: str
    accept: str
    """An option; empty if nothing would be left."""

    @classmethod
    def of(cls, name: str, count: int, of: int, place: str, hint: str) -> "_Refusal":
        problem = PROBLEMS[name]
        other = [word for word in problem.actions if word != REFUSE]
        share = f" of {of:,}" if of else ""
        such = f", such as {place}" if place else ""
        told = f"{problem.what} ({count:,}{share} {problem.unit}{such})"
        if count == of and other[0] == DROP and f"--on {name}=" not in hint:
            return cls(told, hint or "these are all that there are, so the log cannot be used", "")
        chosen = hint.partition(f"--on {name}=")[2].split() or other
        return cls(told, hint, f"--on {name}={chosen[0]}")

    def alone(self) -> str:
        """The whole message, if nothing else is refused."""
        if not self.accept or self.accept in self.hint:
            return f"{self.told}; {self.hint}"
        return f"{self.told}; " + (f"{self.hint}; or " if self.hint else "") + f"say {self.accept}"


def _told_together(refused: Sequence[_Refusal]) -> str:
    """Several refusals, and what accepts all of them; what is behind several is told once."""
    times = Counter(one.hint for one in refused if one.hint)
    told = [f"({n}) {one.told}{_own_hint(one, times)}" for n, one in enumerate(refused, 1)]
    shared = [hint for hint, n in times.items() if n > 1]
    line = f"{len(refused)} problems: {'; '.join([*told, *shared])}"
    if not all(one.accept for one in refused):
        return line
    return f"{line}; to go on with all of them, say {' '.join(one.accept for one in refused)}"


def _own_hint(refusal: _Refusal, times: Mapping[str, int]) -> str:
    return f"; {refusal.hint}" if times.get(refusal.hint) == 1 else ""


@dataclass
class Problems:
    """The problems of one log, counted as they are found."""

    where: str
    actions: Mapping[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    """Of how many a problem's count is a part, where that is known."""
    _refused: "list[_Refusal] | None" = None
    """What is refused, where refusals are gathered; None where the first one is raised."""

    def action(self, name: str) -> str:
        """What is to be done about a problem."""
        return self.actions.get(name, PROBLEMS[name].actions[0])

    def found(
        self,
        name: str,
        count: int | None,
        *,
        of: int = 0,
        example: Callable[[], str] = lambda: "",
        hint: Callable[[], str] = lambda: "",
    ) -> str:
        """Count a problem; returns what to do about it, or raises if it is to be refused.

        Inside :meth:`together` nothing is raised, and what is refused returns ``refuse``.

        Args:
            name: of the problem.
            count: how many there are; none is no problem.
            of: how many there could be; 0 if that does not matter.
            example: says where one of them is.
            hint: says what may be behind it; asked only before a refusal.
        """
        if not count:
            return KEEP
        self.counts[name] = self.counts.get(name, 0) + int(count)
        if of:
            self.totals[name] = self.totals.get(name, 0) + int(of)
        many = name not in self.actions and of > 0 and count > PROBLEMS[name].limit * of
        if self.action(name) == REFUSE or many:
            refusal = _Refusal.of(name, count, of, example(), hint())
            if self._refused is None:
                raise DataError(f"{self.where}: {refusal.alone()}")
            self._refused.append(refusal)
            return REFUSE
        return self.action(name)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Gather what is refused inside, and refuse it at the end, in one line.

        One may be inside another: what it refuses ends the outer one too, which tells it together
        with what it has gathered itself.
        """
        refused: list[_Refusal] = []
        outer, self._refused = self._refused, refused
        try:
            yield
        except DataError:  # it may follow from what was refused before
            if not refused:
                raise
        finally:
            self._refused = outer
        if not refused:
            return
        told = refused[0].alone() if len(refused) == 1 else _told_together(refused)
        if outer is not None:
            outer += refused
        raise DataError(f"{self.where}: {told}")

    def table(self) -> list[dict[str, Any]]:
        """What was found, with what was done about it."""
        return [
            {
                "problem": name,
                "count": count,
                "of": self.totals.get(name),
                "unit": PROBLEMS[name].unit,
                "action": self.action(name),
                "what": PROBLEMS[name].what,
            }
            for name, count in self.counts.items()
        ]
