"""The HTML report of a result: ``run.report()``, and what ``cltr report`` does."""

import json
import shlex
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from cltr.api.shown import Shown
from cltr.api.sources import FileName
from cltr.errors import UsageError
from cltr.files.claims import reserve
from cltr.files.storage import finite, keep_inputs, write_beside
from cltr.report.page.document import page_of, write_page
from cltr.report.page.subject import Subject, open_subject

HEIGHT = 900
"""Pixels of a page in a notebook."""


class Page:
    """An HTML page, which a notebook shows.

    Args:
        subject: the result on the page.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    @property
    def html(self) -> str:
        """Return the whole HTML document."""
        return page_of(self._subject)

    def save(self, out: FileName) -> Path:
        """Write the page to a file."""
        return write_page(self._subject, Path(out))

    def __repr__(self) -> str:
        return f"Page({self._subject.kind} {self._subject.name!r}); save(FILE) writes it"

    def _repr_html_(self) -> str:
        """In a frame of its own, so that its style and that of the notebook stay apart."""
        return (
            f'<iframe title="cltr report" sandbox srcdoc="{escape(self.html)}" '
            f'style="width:100%;height:{HEIGHT}px;border:0"></iframe>'
        )


class Reported(Shown):
    """A result that has an HTML report."""

    @abstractmethod
    def _subject(self) -> Subject:
        """What the page is about."""

    def report(self) -> Page:
        """Return the HTML report. A notebook shows it, and ``save`` writes it to a file."""
        return Page(self._subject())

    def save(self, out: FileName, *, report: bool = True) -> None:
        """Write the result as JSON, and its HTML report next to it.

        Args:
            out: a file name that ends in ``.json``; the page has the same name and ``.html``.
            report: also write the HTML report.
        """
        path, subject = check_out(out), self._subject()
        saved = dict(subject.result)
        if subject.kind == "canary":
            saved["gate"] = {**subject.judged, "changes": subject.changes}
        else:
            saved["changes"] = subject.changes
        with write_beside(path) as partial:
            text = json.dumps(finite(saved), indent=2, allow_nan=False)
            partial.write_text(f"{text}\n", encoding="utf-8")
        if report:
            write_page(subject, path.with_suffix(".html"))


def check_out(out: FileName, inputs: Iterable[Any] = ()) -> Path:
    """Where a result is to be saved, refused before any work if it cannot be.

    Args:
        out: the file.
        inputs: what is read; files among it are never written over.
    """
    path = Path(out)
    if path.suffix.lower() != ".json":
        raise UsageError(f"--out {path}: the name of a result must end in .json")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--out {path}: there is no folder {path.parent}")
    keep_inputs(path, [Path(one) for one in inputs if isinstance(one, str | PathLike)])
    return path


def repeat_command(
    verb: str, given: Sequence[Any], options: Mapping[str, Any], *, usual: Mapping[str, Any]
) -> str | None:
    """The command that gives the same result; None if something was given in memory.

    Args:
        verb: of the command line.
        given: its arguments.
        options: by the names of the function.
        usual: what options are if nothing is said.

    Example:
        >>> repeat_command("gate", ["a b.csv"], {"top_k": 5, "seed": 1}, usual={"seed": 1})
        "cltr gate 'a b.csv' --top-k 5"
    """
    words = ["cltr", verb]
    asked = {key: value for key, value in options.items() if value != usual.get(key)}
    for value in (*given, *asked.values()):
        if not isinstance(value, str | PathLike | int | float | tuple):
            return None
    words += [str(value) for value in given]
    for key, value in asked.items():
        several = value if isinstance(value, tuple) else (value,)
        words += [f"--{key.replace('_', '-')}", *map(str, several)]
    return shlex.join(words)


def make_report(path: FileName, *, out: FileName | None = None) -> Path:
    """Write the HTML report of a run, a study or a saved result. Same as ``cltr report``.

    Args:
        path: a run folder, a study folder, or a file that ``evaluate`` or ``gate`` wrote.
        out: HTML file. [report.html in the folder; for a file the same name ending in .html]
    """
    source = Path(path)
    subject, usual = open_subject(source)
    target = usual if out is None else Path(out)
    if target.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--out {target}: the name of a page must end in .html")
    with reserve(target):
        return write_page(subject, target)
