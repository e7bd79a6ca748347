"""The command line: names and summaries here, each command in its own file, loaded when invoked."""

import errno
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from cltr.cli.common import interrupts
from cltr.cli.common.garbage import search_seldom
from cltr.cli.common.json_stdout import stdout_for_json
from cltr.cli.common.limits import check_limits

COMMANDS = {
    "train": "Learn a ranker from clicks.",
    "evaluate": "Evaluate a trained run, or any ranker on a click log.",
    "gate": "Decide about a ranker: deploy, canary, hold or reject.",
    "report": "Write an HTML page about a run, a gate or a comparison.",
    "rank": "Score and rank queries with a trained run.",
    "simulate": "Simulate the click log of a production ranker.",
    "ingest": "Import a click log: Parquet, CSV, TSV or JSON lines.",
    "fit": "Fit click models and position bias to a log, and compare them.",
    "check": "Say what a click log can be used for, and why.",
    "explore": "Vary production's rankings, with a limit on the worst-case loss.",
    "compare": "Compare methods over numbers of interactions, seeds and users.",
    "reproduce": "Reproduce a figure of the paper, or run the safety panel.",
    "data": "Import, show, split or export queries, documents and features.",
    "export": "Export the ranker of a run: ONNX, Solr, OpenSearch or JSON.",
    "plugins": "Show installed plugins, or create a new one.",
}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Why a terminal, a pipe or a file that stdout was sent to cannot be written."""
_MANY = {errno.EMFILE, errno.ENFILE}
_NO_MEMORY = ("Out of Memory Error", "can't start new thread", "Cannot allocate memory")
"""What libraries say that have errors of their own for it."""
HELP = {"-h", "--help", "--version"}


class LazyGroup(click.Group):
    """Commands are imported when they are invoked; every error is one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return _plugin_command(cmd_name)
        command: click.Command = import_module(f"cltr.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from difflib import get_close_matches

            from cltr.plugins import registry

            known = [*COMMANDS, *registry().names("command")]
            if args[0] not in known:
                close = get_close_matches(args[0], known, n=1)
                hint = f" Did you mean '{close[0]}'?" if close else ""
                raise click.UsageError(
                    f"no command '{args[0]}'; there are: {', '.join(known)}.{hint}", ctx
                )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run, and turn whatever goes wrong into one line and an exit code."""
        words = (args[0] if args else kwargs.get("args")) or sys.argv[1:]
        try:
            _require_one_process(words)
            ours = bool(words) and words[0] in COMMANDS  # others print as they like
            if not HELP & {*words}:
                check_limits()
            with stdout_for_json(ours and "--json" in words and not HELP & {*words}):
                code = super().main(*args, **{**kwargs, "standalone_mode": False})
        except click.UsageError as error:
            help_hint = f" (see '{error.ctx.command_path} --help')" if error.ctx else ""
            _fail(error.format_message() + help_hint, error.exit_code)
        except click.ClickException as error:
            _fail(error.format_message(), error.exit_code)
        except (click.Abort, KeyboardInterrupt):
            _fail_interrupted()
        except BrokenPipeError:
            sys.stderr.close()
            sys.exit(1)
        except Exception as error:
            _fail_on(error, verbose="--verbose" in words)
        sys.exit(code if isinstance(code, int) else 0)


def _require_one_process(words: list[str]) -> None:
    """Refuse what several processes of torchrun would only do several times."""
    if "MASTER_ADDR" not in os.environ or words[:1] == ["train"] or HELP & {*words}:
        return
    from cltr.files.launched import launched

    if launched() > 1:
        raise click.UsageError(
            "torchrun can start 'cltr train' only; start this command without torchrun"
        )


def _plugin_command(name: str) -> click.Command | None:
    """The command of that name that a plugin adds; plugins are looked for only now."""
    from cltr.plugins import registry

    if name not in registry().names("command"):
        return None
    found = registry().create("command", name)
    command: click.Command = found.build()
    if command.callback is not None:
        command.callback = _blaming(found, command.callback)
    return command


def _blaming(component: Any, callback: Callable[..., Any]) -> Callable[..., Any]:
    """A plugin's command, whose exceptions are said to be the plugin's; click's own pass."""
    from functools import wraps

    from cltr.errors import CltrError
    from cltr.plugins.origins import one_line, origin_of

    @wraps(callback)
    def run(*given: Any, **named: Any) -> Any:
        try:
            return callback(*given, **named)
        except (CltrError, click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            origin = origin_of(component)
            if origin is None:
                raise
            raise origin.fault(f"it failed: {one_line(error)}") from error

    return run


def _fail_on(error: Exception, *, verbose: bool) -> None:
    """An error of ours is shown as it is; another one is a bug, and says how to see more."""
    from cltr.errors import CltrError

    if interrupts.interrupted():  # compiled code reports a signal in its own way
        _fail_interrupted()
    if verbose:
        raise error
    if isinstance(error, CltrError):
        _fail(str(error), error.exit_code)
    if reason := _fault_of_the_machine(error):
        _fail(reason, 1)
    first = (str(error).splitlines() or [""])[0]
    _fail(f"internal error: {type(error).__name__}: {first}; run again with --verbose", 1)


def _fault_of_the_machine(error: Exception) -> str:
    """What the machine lacks, and what to do; nothing if the error has another cause."""
    if isinstance(error, MemoryError) or any(word in str(error) for word in _NO_MEMORY):
        return "not enough memory; use fewer queries or a smaller --top-k"
    if not isinstance(error, OSError):
        return ""
    reason = (error.strerror or "").lower()
    if error.errno in _MANY:
        return f"{reason}; raise the limit with 'ulimit -n 1024'"
    if error.errno == errno.ENOMEM:
        return "not enough memory; use fewer queries or a smaller --top-k"
    if error.filename is None and error.errno in _FULL:
        return f"the output cannot be written: {reason}; free some space or write elsewhere"
    return ""


def _fail_interrupted() -> None:
    workers = "concurrent.futures.process" in sys.modules  # whose semaphores Python must give back
    if interrupts.interrupted() and not workers:
        interrupts.end_now()
    _fail(interrupts.message(), interrupts.exit_code())


def _fail(message: str, code: int) -> None:
    from cltr.files.launched import launched, speaks
    from cltr.report.visible import visible

    if launched() > 1:  # torchrun ends this process too, and should not while it speaks
        interrupts.ignore_signals()
    if speaks():
        click.echo(f"Error: {visible(message)}", err=True)
    sys.exit(code)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: cltr train --estimator prpo --reward dr. With a click log: cltr ingest, "
    "then check, train and gate. Plugins may add commands; 'cltr plugins' lists them.",
)
@click.version_option(package_name="cltr", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Safe counterfactual learning to rank from clicks.

    cltr learns a ranker from a click log of your production ranker. Before any user sees it, cltr
    estimates from held-out clicks how much better it is, computes how much worse it could be, and
    says whether to deploy it.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


def main() -> None:
    """Entry point of the ``cltr`` script."""
    from cltr.experiment.library_setup import set_up_libraries

    search_seldom()
    set_up_libraries()
    try:
        with interrupts.end_on_signals():
            cli(prog_name="cltr")
    except KeyboardInterrupt:  # the command has ended, its process has not
        _fail_interrupted()
