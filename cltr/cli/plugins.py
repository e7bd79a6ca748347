"""``cltr plugins``."""

from typing import Any

import click

from cltr.cli.common.options import shared


@click.command(
    "plugins",
    epilog="""\b
Examples:
  cltr plugins
  cltr plugins prpo
  CLTR_PLUGINS=cltr-dr cltr plugins --json""",
)
@click.argument("name", required=False)
@shared
def command(name: str | None, as_json: bool, verbose: bool) -> None:
    """Show what is installed, by whom, with which options.

    With NAME, the options of that component or of all components of that package.
    """
    del verbose
    from cltr.cli.common.output import print_json
    from cltr.errors import UnknownNameError
    from cltr.options import did_you_mean
    from cltr.plugins import registry
    from cltr.report.component_tables import print_components

    found = registry()
    rows = [
        _describe(role, component, provider)
        for role, known in found.components.items()
        for entries in known.values()
        for component, provider in entries
    ]
    if name is not None:
        words = {row["name"] for row in rows} | {row["package"] for row in rows}
        rows = [row for row in rows if name in (row["name"], row["package"])]
        if not rows:
            raise UnknownNameError(
                f"no component or package named '{name}'; 'cltr plugins' lists all"
                + did_you_mean(name, words)
            )
    failed = [
        {"package": f.provider.distribution, "version": f.provider.version, "error": f.reason}
        for f in found.failures
    ]
    result = {"components": rows, "failed": failed, "clashes": found.clashes()}
    if as_json:
        print_json(result)
    else:
        print_components(result, detailed=name is not None)


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
