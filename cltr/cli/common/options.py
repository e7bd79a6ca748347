"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


MOST = 10**15
"""Of anything that is counted."""


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


class Share(click.ParamType):  # type: ignore[type-arg]
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


def cluster_option(command: Command) -> Command:
    """``--cluster``, on commands that compute much."""
    return click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Compute on a Ray cluster: 'ray' for the one of this machine or of RAY_ADDRESS, or "
        "ray://HOST:PORT.  [processes of this machine]",
    )(command)


def shared(command: Command) -> Command:
    """``--json``, ``--plugin`` and ``--verbose``, on every command."""
    for option in (
        click.option("--verbose", is_flag=True, help="Show the traceback of an error."),
        click.option(
            "--plugin",
            "plugin_files",
            multiple=True,
            type=click.Path(path_type=Path),
            metavar="FILE.py",
            help="Load a plugin from a plain file; may be repeated.",
            callback=_load_plugins,
            is_eager=True,
            expose_value=False,
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
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


def run_options(command: Command) -> Command:
    """What a run is composed of; only given flags reach the run file."""
    for option in reversed(_RUN_OPTIONS):
        command = option(command)
    return command


_RUN_OPTIONS = (
    click.option("--data", metavar="FILE", help="Data set from 'cltr data import'.  [demo]"),
    click.option(
        "--click-model",
        metavar="NAME",
        help="Assumed click model; auto fits one to the clicks of the run.  [auto on a log, "
        "trust-bias on simulated clicks]",
    ),
    click.option("--users", metavar="NAME", help="Simulated users.  [the assumed click model]"),
    click.option("--scorer", metavar="NAME", help="What scores documents.  [mlp]"),
    click.option("--top-k", type=Count(), help="Displayed ranks and cut of the metric.  [5]"),
    click.option(
        "-n",
        "--interactions",
        type=Count(),
        help="Training interactions to simulate, also 1e5.  [100000]",
    ),
    click.option("--seed", type=click.IntRange(min=0), help="Decides all random choices.  [1]"),
    click.option(
        "-o",
        "assignments",
        multiple=True,
        metavar="ROLE.KEY=VALUE",
        help="Option of a component, such as estimator.clip=100/N; may be repeated.",
    ),
    click.option(
        "--config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Take values from a run file; flags come on top.",
    ),
)
