"""A third-party command for cltr: ``cltr runs`` lists the runs of a folder."""

import json
from pathlib import Path
from typing import Any

import click

from cltr.errors import CltrError
from cltr.extensions import Command
from cltr.hookspecs import hookimpl


class Runs(Command):
    """List the finished runs of a folder, the best first."""

    name = "runs"

    def build(self) -> click.Command:
        return runs


@click.command("runs")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("runs"))
@click.option("--by", default="ndcg@5", show_default=True, help="Metric on test queries.")
def runs(folder: Path, by: str) -> None:
    """List the finished runs of FOLDER, the best first."""
    found = sorted(read_results(folder), key=lambda row: -value_of(row[1], by))
    if not found:
        raise CltrError(f"{folder}: no finished run here; 'cltr train' makes one below runs/")
    for name, result in found:
        method = f"{result['estimator']}/{result['reward']}/{result['ranker']}"
        click.echo(f"{value_of(result, by):.4f}  {name}  {method}")


def read_results(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """The folder's runs by name, with their results."""
    paths = folder.glob("*/result.json")
    return [(path.parent.name, json.loads(path.read_text(encoding="utf-8"))) for path in paths]


def value_of(result: dict[str, Any], metric: str) -> float:
    """A metric of the learned policy on test queries."""
    values = result["metrics"]["policy"]
    if values.get(metric) is None:
        known = ", ".join(name for name in values if not name.startswith("train_"))
        raise CltrError(f"no metric '{metric}' in {result['run']}; there are: {known}")
    return float(values[metric])


@hookimpl
def cltr_commands() -> list[type[Command]]:
    """Offer ``cltr runs``."""
    return [Runs]
