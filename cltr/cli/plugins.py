"""``cltr plugins``: what is installed (``show``), and a new package (``new``)."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cltr.cli.common.options import shared

if TYPE_CHECKING:
    from cltr.plugins import Failure, Registry


KINDS = (
    "click-model",
    "reward",
    "estimator",
    "ranker",
    "scorer",
    "log-reader",
    "metric",
    "exporter",
    "data-layout",
    "finding",
    "command",
)


class ShowByDefault(click.Group):
    """``cltr plugins NAME`` is short for ``cltr plugins show NAME``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["show", *args]
        return super().parse_args(ctx, args)


EXAMPLES = """\b
Examples:
  cltr plugins
  cltr plugins prpo
  cltr plugins new my-reward --kind reward
  CLTR_PLUGINS=cltr-dr cltr plugins --json"""


@click.group("plugins", cls=ShowByDefault, epilog=EXAMPLES)
def command() -> None:
    """Show installed plugins, or create a new one.

    'cltr plugins' and 'cltr plugins NAME' are short for 'cltr plugins show' and 'cltr plugins show
    NAME'.
    """


@command.command("show", epilog=EXAMPLES)
@click.argument("name", required=False)
@shared
def show(name: str | None, as_json: bool, verbose: bool) -> None:
    """Show installed components with their packages, or the options of one.

    NAME is a component, such as prpo, or a package, such as cltr-dr: then cltr shows the options,
    or why the package failed to load. --verbose adds the traceback of the failure. The environment
    variable CLTR_PLUGINS lists the packages to load; by default, all are loaded.
    """
    from cltr.cli.common.output import print_json
    from cltr.plugins import registry
    from cltr.report.component_tables import print_components

    found = registry()
    result = {
        "components": [
            _describe(role, component, provider)
            for role, known in found.components.items()
            for entries in known.values()
            for component, provider in entries
        ],
        "failed": [_failed(failure, verbose=verbose) for failure in found.failures],
        "clashes": found.clashes(),
        "notes": found.notes,
    }
    if name is not None:
        result |= _only(name, result, found)
    if as_json:
        print_json(result)
    else:
        print_components(result, detailed=name is not None)


@command.command(
    "new",
    epilog="""\b
Examples:
  cltr plugins new my-reward --kind reward
  cltr plugins new page-views --kind log-reader --out packages/page-views""",
)
@click.argument("name")
@click.option(
    "--kind", metavar="KIND", required=True, help=f"Kind of component: {', '.join(KINDS)}."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="New folder to write.  [cltr-NAME]",
)
@shared
def new(name: str, kind: str, out: Path | None, as_json: bool, verbose: bool) -> None:
    """Create a plugin package with one component and its tests.

    NAME is what users will type, such as my-reward; the package is called cltr-NAME. It can be
    installed as it is, and passes its tests.
    """
    del verbose
    from cltr.cli.common.output import print_json
    from cltr.plugins.new_package import new_package

    written = [str(path) for path in new_package(name, kind, folder=out)]
    if as_json:
        print_json({"files": written})
        return
    folder = Path(written[0]).parent
    click.echo("\n".join(f"wrote {path}" for path in written))
    click.echo(f"next: pip install --editable {folder} && pytest {folder}")


def _only(name: str, result: dict[str, Any], found: "Registry") -> dict[str, Any]:
    """What has this name: components, those of a package, or a package that failed."""
    from cltr.errors import UnknownNameError
    from cltr.options import did_you_mean

    rows = [row for row in result["components"] if name in (row["name"], row["package"])]
    failed = [row for row in result["failed"] if name == row["package"]]
    packages = {provider.distribution for provider in found.providers}
    if not rows and not failed and name not in packages:
        words = {row["name"] for row in result["components"]} | packages
        words |= {row["package"] for row in result["failed"]}
        raise UnknownNameError(
            f"no component or package named '{name}'; 'cltr plugins' lists all"
            + did_you_mean(name, words)
        )
    notes = [note for note in result["notes"] if note.startswith(f"plugin {name} ")]
    return {"components": rows, "failed": failed, "notes": notes}


def _failed(failure: "Failure", *, verbose: bool) -> dict[str, Any]:
    row = {
        "package": failure.provider.distribution,
        "version": failure.provider.version,
        "error": failure.reason,
    }
    return row | ({"traceback": failure.traceback} if verbose else {})


def _describe(role: str, component: Any, provider: Any) -> dict[str, Any]:
    summary = (component.__doc__ or "").strip().splitlines() or [""]
    return {
        "role": role,
        "name": component.name,
        "package": provider.distribution,
        "version": provider.version,
        "summary": summary[0],
        "options": {
            key: {
                "default": _plain(field.get_default(call_default_factory=True)),
                "description": field.description or "",
            }
            for key, field in component.Options.model_fields.items()
        },
    }


def _plain(value: Any) -> Any:
    plain = getattr(value, "plain", None)
    if plain is not None:
        return plain()
    return list(value) if isinstance(value, tuple) else value
