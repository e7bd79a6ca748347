"""Conformance of commands."""

import click

from cltr.extensions import Command
from cltr.testing.demands import check_component, demand


def check_command(command: Command) -> None:
    """It builds a click command of its name, with help, whose help page can be shown."""
    check_component(command)
    built = command.build()
    demand(isinstance(built, click.Command), "build does not return a click command")
    demand(built.name == command.name, f"it is called '{built.name}', not '{command.name}'")
    demand(bool(built.get_short_help_str()), "it has no docstring; --help shows it")
    for parameter in built.params:
        described = not isinstance(parameter, click.Option) or parameter.help
        demand(bool(described), f"option {'/'.join(parameter.opts)} has no help")
    built.get_help(click.Context(built, info_name=command.name))
