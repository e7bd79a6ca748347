"""All help texts on one page: ``python -m cltr.cli.common.help_page > docs/cli.md``."""

from collections.abc import Iterator

import click

from cltr.cli import cli

CONVENTIONS = """\
## Conventions

- Results go to stdout, progress and notes to stderr. `--json` prints one object.
- The exit code is 0 if all went well, 1 for an error, 2 for a wrong command line, and 3 for an
  honest no: a verdict other than deploy or ship, or a log that does not support a use.
- A file that `--out`, `--plot` or `--data-out` names is replaced when the new one is complete, and
  a line on stderr says so first. Until then the old file stays as it is.
- A folder that holds a run, a serving rule, shards or a package is never written over.
  `cltr compare` and `cltr reproduce` continue in their folder, and `cltr fit` replaces its files.
"""


def help_page() -> str:
    """The page, in Markdown."""
    parts = [
        "# The command line\n\n"
        "Made from `--help` by `python -m cltr.cli.common.help_page > docs/cli.md`; "
        "tested to be current.\n",
        CONVENTIONS,
    ]
    for path, text in _help_texts(cli, "cltr"):
        parts.append(f"## {path}\n\n```\n{text}\n```\n")
    return "\n".join(parts)


def _help_texts(
    command: click.Command, path: str, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    context = click.Context(
        command,
        info_name=path.rsplit(maxsplit=1)[-1],
        parent=parent,
        terminal_width=88,
        max_content_width=88,
        help_option_names=["-h", "--help"],  # as the command line itself has them
    )
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                yield from _help_texts(child, f"{path} {name}", context)


if __name__ == "__main__":
    click.echo(help_page(), nl=False)
