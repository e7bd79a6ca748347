"""How results look everywhere: the colours, marks and labels of tables, figures and pages.

Terminal tables, PNG figures and the HTML report take them from here, so that production is the same
grey and has the same name in all of them. Colours are those of Okabe and Ito, which people with any
kind of colour vision tell apart; where a colour carries a meaning, a mark or a word carries it too.
"""

from typing import NamedTuple

BLUE, VERMILLION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
ORANGE, SKY, BROWN, GREY = "#e69f00", "#56b4e9", "#7f4f24", "#5c5c5c"
LIGHT = "#b8c7d6"
"""A pale blue, for what stands in the background."""
SERIES = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BROWN, GREY, "#999933", "#222222")
"""Colours of curves, in this order."""
DARK_SERIES = (
    *("#5cb8f5", "#ff9a4d", "#3fd0a4", "#e3a1c6", "#f2bd3f", "#8fd0f7", "#c79a6b", "#a8b0b8"),
    *("#cccc66", "#e8e8e8"),
)
"""The same on a dark page."""
MARKERS = "osD^vP*X"
"""Of curves in PNG figures, by their letters in matplotlib."""


SPLITS_IN_WORDS = {"test": "test queries", "train": "training queries"}
"""What tables and pages call the splits."""
PARTS_IN_WORDS = {"train": "training", "valid": "validation", "test": "test"}
"""What they call the parts of a log."""


class Look(NamedTuple):
    """What something is called, and what it looks like."""

    label: str
    light: str
    """Colour on a light page and in figures."""
    dark: str
    """Colour on a dark page."""
    mark: str = "circle"
    """Shape in pictures, or a character beside the word."""
    terminal: str = ""
    """Style in a terminal."""


RANKERS = {
    "production": Look("production", GREY, "#b4bcc6", "square", ""),
    "production_sorted": Look(
        "production, sorted (not sampled)", "#8a6100", "#e6b85c", "diamond", ""
    ),
    "policy": Look("new policy", BLUE, "#5cb8f5", "circle", "bold"),
    "policy_sorted": Look("new policy, sorted (not sampled)", "#6f3f97", "#c9a3ea", "triangle", ""),
    "canary": Look("new policy for some requests", "#00735a", "#3fd0a4", "cross", ""),
    "skyline": Look("trained on true labels", "#00735a", "#3fd0a4", "triangle", ""),
}
"""Rankers that results compare."""
IN_FILES = {"production, sorted": "production_sorted"}
"""Names of rankers in published files of results, and in ``--json``."""
POINT = "1 point = 0.01"
"""The unit of worst-case losses, for headings and sentences."""
DECISIONS = {
    "deploy": Look("deploy", "#00664f", "#3fd0a4", "✓", "bold green"),
    "ship": Look("ship", "#00664f", "#3fd0a4", "✓", "bold green"),
    "canary": Look("canary", "#855a00", "#f2bd3f", "◐", "bold yellow"),
    "continue": Look("continue", "#855a00", "#f2bd3f", "◐", "bold yellow"),
    "hold": Look("hold", "#41505f", "#b4c4d4", "‖", "bold"),
    "reject": Look("reject", "#a83a00", "#ff9a4d", "✗", "bold red"),
    "stop": Look("stop", "#a83a00", "#ff9a4d", "✗", "bold red"),
}
"""Verdicts of runs, gates and canaries."""
OUTCOMES = {
    "pass": Look("pass", "#00664f", "#3fd0a4", "✓", "dim"),
    "inconclusive": Look("inconclusive", "#855a00", "#f2bd3f", "?", "yellow"),
    "fail": Look("fail", "#a83a00", "#ff9a4d", "✗", "bold red"),
}
"""Of health checks."""
ANSWERS = {
    "yes": Look("yes", BLUE, "#5cb8f5", "✓"),
    "with care": Look("with care", ORANGE, "#f2bd3f", "!"),
    "no": Look("no", VERMILLION, "#ff9a4d", "✗"),
}
"""Of 'cltr check'."""


def label(ranker: str) -> str:
    """What tables call a ranker, a candidate or a method.

    Example:
        >>> label("production_sorted"), label("difference")
        ('production, sorted (not sampled)', 'difference')
        >>> label("production, sorted")
        'production, sorted (not sampled)'
    """
    known = IN_FILES.get(ranker, ranker)
    return RANKERS[known].label if known in RANKERS else ranker


def with_sign(value: float, digits: int = 4) -> str:
    """A difference with its sign; one that rounds to 0 has none.

    Example:
        >>> with_sign(0.25), with_sign(-0.25), with_sign(-1e-9)
        ('+0.2500', '-0.2500', '0.0000')
    """
    told = f"{value:+.{digits}f}"
    return told if float(told) else told[1:]
