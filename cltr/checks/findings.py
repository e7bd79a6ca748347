"""What ``cltr check`` finds, and what follows from it for each use of a log."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

Level: TypeAlias = Literal["good", "note", "warning", "fatal"]
Use: TypeAlias = Literal["position-bias", "evaluation", "training"]
Answer: TypeAlias = Literal["yes", "with care", "no"]
LEVELS: tuple[Level, ...] = get_args(Level)
USES: tuple[Use, ...] = get_args(Use)
QUESTIONS_OF_USES: dict[Use, str] = {
    "position-bias": "estimate position bias",
    "evaluation": "evaluate other rankings",
    "training": "train a ranker",
}
ANSWERS: dict[Level, Answer] = {
    "good": "yes",
    "note": "yes",
    "warning": "with care",
    "fatal": "no",
}
"""What the worst finding of a use makes of it."""


@dataclass(frozen=True)
class Finding:
    """Something found in a log, with its number, why it matters and what to do about it.

    Example:
        >>> Finding("clicks", {"training": "fatal"}, 0, "0 clicks", "none, none", "log").level
        'fatal'
    """

    name: str
    uses: Mapping[Use, Level]
    """How bad it is for each use that it matters to."""
    number: float | None
    text: str
    """What was found, with the number and its unit."""
    why: str
    """Why it matters."""
    advice: str = ""
    """What to do about it; empty if there is nothing to do."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Other numbers, for machines."""
    decides: Use | None = None
    """The use for which a good result is itself the reason to say yes."""

    @property
    def level(self) -> Level:
        """How bad it is for the use that it harms most."""
        return worst(self.uses.values())

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "uses": dict(self.uses), "level": self.level}

    def supports(self, use: Use) -> bool:
        """Whether it is a reason to say yes to a use."""
        return use == self.decides and self.uses.get(use) == "good"


def worst(levels: Iterable[Level]) -> Level:
    """The worst of some levels; ``note`` if there is none.

    Example:
        >>> worst(["good", "warning"]), worst([])
        ('warning', 'note')
    """
    return max(levels, key=LEVELS.index, default="note")


def for_all(level: Level) -> dict[Use, Level]:
    """The same level for every use."""
    return dict.fromkeys(USES, level)


def for_estimates(level: Level) -> dict[Use, Level]:
    """A level for evaluation and training, which weight clicks; position bias does not mind."""
    return {"evaluation": level, "training": level}


@dataclass(frozen=True)
class UseVerdict:
    """Whether a log supports a use: yes, with care or no; and why."""

    use: Use
    answer: Answer
    reason: str
    """The worst finding, in words."""
    advice: str
    """What to do about it."""
    number: float | None
    """The number of that finding."""
    findings: tuple[str, ...]
    """Names of all findings that are as bad, the reason's own first."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "findings": list(self.findings)}


def verdict_on(use: Use, findings: Iterable[Finding]) -> UseVerdict:
    """The verdict on one use: as bad as its worst finding; the first of these is the reason."""
    about = [finding for finding in findings if use in finding.uses]
    level = worst(finding.uses[use] for finding in about)
    if not about or ANSWERS[level] == "yes":
        found = "nothing was found that speaks against it"
        support = next((one for one in about if one.supports(use)), None)
        reason = support.text if support else found
        return UseVerdict(use, "yes", reason, "", support.number if support else None, ())
    bad = [finding for finding in about if finding.uses[use] == level]
    first = bad[0]
    names = tuple(finding.name for finding in bad)
    return UseVerdict(use, ANSWERS[level], first.text, first.advice, first.number, names)
