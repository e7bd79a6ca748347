"""The HTML report of a result: ``run.report()``, and what ``cltr report`` does."""

from html import escape
from pathlib import Path

from cltr.api.sources import FileName
from cltr.errors import UsageError
from cltr.report.page.document import page_of, write_page
from cltr.report.page.subject import Subject, open_subject

HEIGHT = 900
"""Pixels of a page in a notebook."""


class Page:
    """A page that shows itself in a notebook.

    Args:
        subject: what it is about.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    @property
    def html(self) -> str:
        """The whole document."""
        return page_of(self._subject)

    def save(self, out: FileName) -> Path:
        """Write it to a file."""
        return write_page(self._subject, Path(out))

    def __repr__(self) -> str:
        return f"Page({self._subject.kind} {self._subject.name!r}); save(FILE) writes it"

    def _repr_html_(self) -> str:
        """In a frame of its own, so that its style and that of the notebook stay apart."""
        return (
            f'<iframe title="cltr report" sandbox srcdoc="{escape(self.html)}" '
            f'style="width:100%;height:{HEIGHT}px;border:0"></iframe>'
        )


def make_report(path: FileName, *, out: FileName | None = None) -> Path:
    """Write the HTML report of a run, a study or a saved result, as ``cltr report`` does.

    Args:
        path: a run folder, the folder of a study, or a file that ``evaluate`` or ``gate`` wrote.
        out: HTML file. [report.html in the folder; for a file the same name ending in .html]
    """
    source = Path(path)
    subject, usual = open_subject(source)
    target = usual if out is None else Path(out)
    if target.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--out {target}: the name of a page must end in .html")
    return write_page(subject, target)
