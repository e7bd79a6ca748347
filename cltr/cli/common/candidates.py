"""Options of commands that judge candidates by a log."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from cltr.cli.common.options import Count

Command = TypeVar("Command", bound=Callable[..., Any])


def candidate_options(command: Command) -> Command:
    """How candidates are served, and which clicks judge them, with their defaults."""
    return _add(command, _DEFAULTS)


def candidate_options_with_log(command: Command) -> Command:
    """The same for a command that may also do without a log: nothing is set by default."""
    return _add(command, {})


def save_options(command: Command) -> Command:
    """Where the result and its page go."""
    command = click.option(
        "--report/--no-report", default=True, help="With --out, also write the page.  [yes]"
    )(command)
    return click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="FILE.json",
        help="Save the result as JSON, and an HTML page beside it.  [nothing is saved]",
    )(command)


def _add(command: Command, defaults: dict[str, Any]) -> Command:
    for flag, settings in reversed(_OPTIONS.items()):
        command = click.option(flag, default=defaults.get(flag), **settings)(command)
    return command


_DEFAULTS: dict[str, Any] = {
    "--confidence": 0.95,
    "--clicks": "test",
    "--click-model": "auto",
    "--seed": 1,
}
_OPTIONS: dict[str, dict[str, Any]] = {
    "--confidence": {
        "type": click.FloatRange(0.5, 1.0, min_open=True, max_open=True),
        "metavar": "SHARE",
        "help": "Confidence of each bound for the gain, one-sided.  [0.95]",
    },
    "--serve": {
        "type": click.Choice(["sorted", "sampled"]),
        "help": "Rankings sorted by score, or drawn with the scores as logits (Plackett-Luce).  "
        "[sorted; a run as it was trained]",
    },
    "--clicks": {
        "type": click.Choice(["test", "all"]),
        "help": "Clicks that judge: the test part of the log, or all of it, for a candidate that "
        "was made without its clicks.  [test]",
    },
    "--click-model": {
        "metavar": "NAME",
        "help": "Click model: a name, fitted:FILE, or auto to fit one to the log.  [auto]",
    },
    "--production": {
        "type": click.Path(path_type=Path),
        "metavar": "FILE",
        "help": "Production's scores, if the log does not have them: query, document, score.",
    },
    "--top-k": {
        "type": Count(),
        "help": "Ranks to look at.  [those of the log, at most 10]",
    },
    "--seed": {"type": click.IntRange(min=0), "help": "Decides all draws.  [1]"},
}
