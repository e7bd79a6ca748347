"""Options of commands that judge candidates by a log."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from cltr.cli.common.options import Confidence, Count, out_file

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
        "--report/--no-report", default=True, help="With --out, also write the HTML page.  [yes]"
    )(command)
    return out_file(
        metavar="FILE.json",
        help="Save the result as JSON, and as an HTML page of the same name.  [nothing is saved]",
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
    "--score-column": "",
}
_OPTIONS: dict[str, dict[str, Any]] = {
    "--confidence": {
        "type": Confidence(),
        "metavar": "SHARE",
        "help": "Confidence of the bounds for the gain, one-sided; for several candidates, of all "
        "lower bounds together.  [0.95]",
    },
    "--serve": {
        "type": click.Choice(["sorted", "sampled"]),
        "help": "How users get rankings: sorted by score, or drawn at random with the scores as "
        "logits (Plackett-Luce).  [sorted; for a run, as it was trained]",
    },
    "--score-column": {
        "metavar": "NAME",
        "help": "Column of the score in a candidate that is a table.  [score, else rank, else "
        "the only column with numbers]",
    },
    "--clicks": {
        "type": click.Choice(["test", "all"]),
        "help": "Clicks to judge by: the test part of the log, or all of it. Use all only for a "
        "candidate that was made without the clicks of this log.  [test]",
    },
    "--click-model": {
        "metavar": "NAME",
        "help": "Model of how users click, which the estimates assume: a name, fitted:FILE from "
        "'cltr fit', or auto to fit one to the log.  [auto]",
    },
    "--production": {
        "type": click.Path(path_type=Path),
        "metavar": "FILE",
        "help": "Table with production's scores (columns query, document, score), if the log does "
        "not have them.",
    },
    "--top-k": {
        "type": Count(),
        "help": "Number of ranks that count.  [those of the log, at most 10]",
    },
    "--seed": {"type": click.IntRange(min=0), "help": "Seed of all random choices.  [1]"},
}
