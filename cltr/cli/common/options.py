"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


MOST = 10**15
"""Of anything that is counted."""
LEAST_CONFIDENCE = 0.5
"""A bound with less is on the wrong side of the estimate."""


class Count(click.ParamType):  # type: ignore[type-arg]
    """A whole number, also written 1e5."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = float(value)
        except ValueError:
            self.fail(f"'{value}' is not a number such as 100000 or 1e5", param, ctx)
        if number > MOST:
            self.fail(f"'{value}' is more than cltr counts; give at most {MOST:.0e}", param, ctx)
        if not (number >= 1 and number == int(number)):
            self.fail(f"'{value}' is not a whole number of at least 1", param, ctx)
        return int(number)


class ShareWord(click.ParamType):  # type: ignore[type-arg]
    """A number from 0 to 1, also written as a percentage."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        from cltr.options import read_share

        try:
            return read_share(value)
        except ValueError as error:
            self.fail(f"'{value}': {error}", param, ctx)


class Confidence(click.ParamType):  # type: ignore[type-arg]
    """A number between 0.5 and 1, also written as a percentage."""

    name = "confidence"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        word = str(value).strip()
        try:
            share = float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
        except ValueError:
            self.fail(f"'{value}' is not a number such as 0.95", param, ctx)
        if not LEAST_CONFIDENCE < share < 1:
            meant = f"; for {word}% say {share / 100:g}" if 50 < share < 100 else ""
            self.fail(f"'{value}' does not lie between 0.5 and 1{meant}", param, ctx)
        return share


def out_file(
    flag: str = "--out", *, help: str, metavar: str = "FILE", required: bool = False
) -> Callable[[Command], Command]:
    """An option that names a file to write; a line says so if it is there already.

    The rule is the same for all commands: a file is replaced when the new one is whole, and a file
    that is read is never replaced.

    Args:
        flag: of the option.
        help: what is written.
        metavar: what help calls the value.
        required: whether it must be given.
    """
    return click.option(
        flag,
        type=click.Path(path_type=Path),
        metavar=metavar,
        required=required,
        help=help,
        callback=say_replaced,
    )


def say_replaced(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """Say on stderr that a file will be replaced."""
    del ctx
    if value is not None and value.is_file():
        line = f"Note: {value} exists; it is replaced when the new file is complete"
        click.echo(f"{line} ({param.opts[0]}).", err=True)
    return value


def cluster_option(command: Command) -> Command:
    """``--cluster``, on commands that compute much."""
    return click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Compute on a Ray cluster: 'ray' for the one on this machine or at RAY_ADDRESS, or "
        "ray://HOST:PORT.  [processes on this machine]",
    )(command)


def log_options(
    *,
    required: bool = True,
    help: str = "Log file from 'cltr ingest' or 'cltr simulate'.",
) -> Callable[[Command], Command]:
    """``--log``, and ``--data`` that it was ingested with.

    Args:
        required: whether the command needs a log.
        help: of ``--log``.
    """

    def add(command: Command) -> Command:
        command = click.option(
            "--data",
            metavar="FILE",
            help="Data set that the log was ingested with, if it was.  "
            "[demo, for a log of the demo data]",
        )(command)
        return click.option(
            "--log",
            type=click.Path(path_type=Path),
            required=required,
            metavar="FILE",
            help=help,
        )(command)

    return add


def assignments_option(
    help: str, *, metavar: str = "ROLE.KEY=VALUE"
) -> Callable[[Command], Command]:
    """``-o``: options of components, given to the command as ``assignments``."""
    return click.option("-o", "assignments", multiple=True, metavar=metavar, help=help)


def methods_option(help: str) -> Callable[[Command], Command]:
    """``-m``: methods of a study, given to the command as ``methods``."""
    return click.option("-m", "--method", "methods", multiple=True, metavar="METHOD", help=help)


def grid_options(*, interactions: str, seeds: int) -> Callable[[Command], Command]:
    """``-n`` and ``--seeds`` of a study; the usual numbers are named in brackets."""

    def add(command: Command) -> Command:
        command = click.option(
            "--seeds",
            metavar="NUMBER",
            help=f"Number of seeds, or a list of seeds such as 1,2,7.  [{seeds}]",
        )(command)
        return click.option("-n", "--interactions", metavar="LIST", help=interactions)(command)

    return add


def shared(command: Command) -> Command:
    """``--json``, ``--plugin`` and ``--verbose``, on every command."""
    for option in (
        click.option("--verbose", is_flag=True, help="Show the traceback if an error occurs."),
        click.option(
            "--plugin",
            "plugin_files",
            multiple=True,
            type=click.Path(path_type=Path),
            metavar="FILE.py",
            help="Load a plugin from a Python file; may be repeated.",
            callback=_load_plugins,
            is_eager=True,
            expose_value=False,
        ),
        click.option(
            "--json", "as_json", is_flag=True, help="Print the result as one JSON object."
        ),
    ):
        command = option(command)
    return command


def key_values(assignments: tuple[str, ...], *, example: str) -> dict[str, Any]:
    """What ``-o key=value`` words say, ``-`` in keys as ``_``.

    Args:
        assignments: the words.
        example: of one, for the message.
    """
    from cltr.experiment.config import parse_value

    found = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not (key and equals):
            raise click.UsageError(f"-o {assignment}: expected key=value, as {example}")
        found[key.replace("-", "_")] = parse_value(value)
    return found


PLUGIN_FILES = "cltr.plugin_files"
"""Where a command's context keeps what ``--plugin`` named."""


def _load_plugins(ctx: click.Context, param: click.Parameter, value: tuple[Path, ...]) -> None:
    del param
    ctx.meta[PLUGIN_FILES] = value
    if value:
        from cltr.plugins import load_file

        for path in value:
            load_file(path)


def plugin_files() -> tuple[Path, ...]:
    """The files that ``--plugin`` named, for processes that must load them too."""
    files: tuple[Path, ...] = click.get_current_context().meta.get(PLUGIN_FILES, ())
    return files


def warn_about_plugins() -> None:
    """One line for each plugin that failed or clashes, to stderr."""
    from cltr.cli import COMMANDS
    from cltr.plugins import registry

    for line in registry().warnings():
        click.echo(f"Warning: {line}", err=True)
    for name in set(registry().names("command")) & set(COMMANDS):
        provider = registry().components["command"][name][0][1]
        click.echo(f"Warning: {provider}: cltr has a command '{name}' of its own", err=True)


def run_options(
    *, click_model: str, example: str, users: str = "", top_k: str = "5"
) -> Callable[[Command], Command]:
    """What a run is composed of; only given flags reach the run file.

    Args:
        click_model: help of ``--click-model``.
        example: of ``-o`` that means something to the command.
        users: when ``--users`` may not be given, as a sentence.
        top_k: what the number of ranks is by default.
    """

    def add(command: Command) -> Command:
        command = click.option(
            "--config",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Take values from a run file; options on the command line replace them.",
        )(command)
        command = click.option(
            "-o",
            "assignments",
            multiple=True,
            metavar="ROLE.KEY=VALUE",
            help=(
                f"Option of a component, such as {example}; 'cltr plugins NAME' lists those of a "
                "component. May be repeated."
            ),
        )(command)
        for option in reversed(_RUN_OPTIONS):
            command = option(command)
        ranks = f"Ranks that users see, and the cutoff of the metric.  [{top_k}]"
        command = click.option("--top-k", type=Count(), help=ranks)(command)
        clicking = "How simulated users click: name of a click model, such as pbm or adversarial."
        command = click.option(
            "--users", metavar="NAME", help=f"{clicking}{users}  [as --click-model]"
        )(command)
        command = click.option("--click-model", metavar="NAME", help=click_model)(command)
        data = "Data set file from 'cltr data import'.  [demo: a small one in the package]"
        return click.option("--data", metavar="FILE", help=data)(command)

    return add


_RUN_OPTIONS = (
    click.option("--scorer", metavar="NAME", help="Kind of model that scores documents.  [mlp]"),
    click.option(
        "-n",
        "--interactions",
        type=Count(),
        help="Training interactions (lists shown for a query) to simulate, such as 1e5.  [100000]",
    ),
    click.option("--seed", type=click.IntRange(min=0), help="Seed of all random choices.  [1]"),
)
