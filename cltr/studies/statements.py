"""The paper's statements, judged by the cells of a figure: each holds or fails."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cltr.studies.summary import Summary

TOLERANCE = 0.01
"""Of production's value: a smaller difference is none."""


@dataclass(frozen=True)
class Statement:
    """A claim of the paper, what the cells say of it, and by which numbers."""

    claim: str
    holds: bool
    numbers: str

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'fails'}: {self.claim} ({self.numbers})"


def judge_statements(figure: str, summary: Summary) -> list[Statement]:
    """The statements about a figure; none for a study of one's own, or with cells missing."""
    found = []
    for statement in STATEMENTS.get(figure, ()):
        try:
            found.append(statement(summary))
        except ValueError:  # a curve without any number: its cells failed
            continue
    return found


def no_early_dip(summary: Summary) -> Statement:
    """(a) Safe DR and PRPO never fall below production."""
    dips = {name: _worst(summary, name) for name in ("Safe DR δ=0.95", "PRPO 100/N")}
    return Statement(
        "(a) safe DR and PRPO have no early dip below production",
        all(dip.loss <= TOLERANCE for dip in dips.values()),
        "; ".join(f"{name}: {dip}" for name, dip in dips.items()),
    )


def plain_dips(summary: Summary) -> Statement:
    """(b) DR falls below production while N is small."""
    dip = _worst(summary, "DR")
    small = dip.interactions <= 1e5
    return Statement(
        "(b) plain DR dips below production for small N",
        dip.loss > TOLERANCE and small,
        f"DR: {dip}",
    )


def ips_is_overtaken(summary: Summary) -> Statement:
    """(c) At the largest N the others are better than IPS."""
    values = {name: _means(summary, name)[-1] for name in summary.study.methods}
    ips = values.pop("IPS")
    return Statement(
        "(c) IPS is overtaken for large N",
        all(value > ips for value in values.values()),
        f"at N = {summary.study.interactions[-1]:,}: IPS {ips:.4f}, "
        + ", ".join(f"{name} {value:.4f}" for name, value in values.items()),
    )


def proximal_loss_is_bounded(summary: Summary) -> Statement:
    """(d) Under adversarial users PRPO's loss stays flat in N."""
    names = [name for name in summary.study.methods if name.startswith("PRPO")]
    worst, late = {name: _worst(summary, name) for name in names}, _growths(summary, names)
    bounded = all(worst[name].loss < _worst(summary, "DR").loss for name in names)
    return Statement(
        "(d) under adversarial users PRPO's loss is bounded and flat in N",
        bounded and all(growth <= TOLERANCE for growth in late.values()),
        f"DR: {_worst(summary, 'DR')}; "
        + "; ".join(f"{n}: {worst[n]}, {late[n]:+.1%} over the later half of N" for n in names),
    )


def safe_loss_grows(summary: Summary) -> Statement:
    """(d) Under adversarial users the loss of safe DR grows with N."""
    names = [name for name in summary.study.methods if name.startswith("Safe DR")]
    grown = {name: _losses(summary, name)[-1] - _losses(summary, name)[0] for name in names}
    return Statement(
        "(d) under adversarial users safe DR's loss grows with N",
        all(growth > TOLERANCE for growth in grown.values()),
        "; ".join(
            f"{name}: {_losses(summary, name)[0]:.1%} to {_losses(summary, name)[-1]:.1%}"
            for name in names
        ),
    )


STATEMENTS: dict[str, tuple[Callable[[Summary], Statement], ...]] = {
    "figure-2": (no_early_dip, plain_dips, ips_is_overtaken),
    "figure-4": (proximal_loss_is_bounded, safe_loss_grows),
}


@dataclass(frozen=True)
class _Dip:
    loss: float
    interactions: int

    def __str__(self) -> str:
        if self.loss <= 0:
            return f"never below production (closest {-self.loss:.1%} above)"
        return f"{self.loss:.1%} below production at worst, at N = {self.interactions:,}"


def _means(summary: Summary, method: str) -> list[float]:
    means = [b.mean for b in summary.curve(method, summary.study.people[0])]
    if not np.isfinite(means).all():
        raise ValueError(f"{method}: some cells have no number")
    return means


def _losses(summary: Summary, method: str) -> list[float]:
    """What is lost on production, as a share of production's value, by N."""
    users = summary.study.people[0]
    production = summary.references["production"].mean
    losses = []
    for n in summary.study.interactions:
        differences = list(summary.differences(method, users, n).values())
        if not differences:
            raise ValueError(f"{method}: no number at N = {n}")
        losses.append(-float(np.mean(differences)) / production)
    return losses


def _worst(summary: Summary, method: str) -> _Dip:
    losses = _losses(summary, method)
    worst = int(np.argmax(losses))
    return _Dip(losses[worst], summary.study.interactions[worst])


def _growths(summary: Summary, methods: list[str]) -> dict[str, float]:
    """How much the loss grows over the later half of the grid of N."""
    middle = len(summary.study.interactions) // 2
    return {name: _losses(summary, name)[-1] - _losses(summary, name)[middle] for name in methods}
