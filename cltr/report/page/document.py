"""A whole page from its sections."""

import re
from collections.abc import Callable
from pathlib import Path

from cltr.experiment.run_log import OWN
from cltr.files.storage import write_beside
from cltr.report.page.candidates import candidates_section
from cltr.report.page.changes import changes_section
from cltr.report.page.log_support import support_section
from cltr.report.page.making import making_section
from cltr.report.page.markup import Content, Html, element, join, name_of
from cltr.report.page.quality import quality_section
from cltr.report.page.study import study_sections
from cltr.report.page.style import style_sheet
from cltr.report.page.subject import Kind, Subject
from cltr.report.page.verdict import verdict_section

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What a browser may load for a page: nothing."""
HEADING = re.compile(r'<section id="(\w+)"[^>]*><h2[^>]*>(.*?)</h2>')
"""The id and the title of a section."""
TITLES: dict[Kind, str] = {
    "run": "Run",
    "evaluation": "Evaluation of run",
    "gate": "Gate for",
    "canary": "Canary of",
    "candidates": "Candidates judged by",
    "study": "Study",
}


def page_of(subject: Subject) -> str:
    """The page as one HTML document, complete in itself."""
    sections = [make(subject) for make in _sections(subject)]
    title = f"{TITLES[subject.kind]} "
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{title}{subject.name[:80]} · cltr report"),
        Html(f"<style>{style_sheet()}</style>"),
    )
    top = element(
        "header",
        element("a", "Skip to the verdict", href="#main", class_="skip"),
        element("h1", title, name_of(subject.name)),
        element("p", _about(subject), class_="about"),
        _contents(sections),
    )
    foot = element("footer", element("p", _footer(subject)))
    body = element("body", top, element("main", sections, id="main"), foot)
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _sections(subject: Subject) -> list[Callable[[Subject], Html]]:
    if subject.kind == "study":
        return [study_sections, making_section]
    if subject.kind == "candidates":
        return [verdict_section, candidates_section, changes_section, making_section]
    return [verdict_section, quality_section, support_section, changes_section, making_section]


def _contents(sections: list[Html]) -> Html:
    """Links to the sections, in their order."""
    found = HEADING.findall("".join(sections))
    links = [element("li", element("a", Html(words), href=f"#{name}")) for name, words in found]
    return element("nav", element("ul", links), aria_label="Contents")


def _about(subject: Subject) -> Content:
    result = subject.judged
    if subject.kind in ("run", "evaluation"):
        return join(
            f"Method {result['estimator']}, reward {result['reward']}, "
            f"{result['n_interactions']:,} interactions, ",
            _source(subject),
        )
    if "log" in result:
        return join("Log ", name_of(str(result["log"])))
    return None


def _source(subject: Subject) -> Content:
    """Whose clicks on which data."""
    result, log = subject.judged, subject.config.get("log")
    users = result.get("users")
    data = None if result["data"] == OWN else [", data ", name_of(str(result["data"]))]
    if log:
        whose = f" of simulated users ({users})" if users else ""
        return ["log ", name_of(str(log)), whose, data]
    return [f"simulated users ({users})", data]


def _footer(subject: Subject) -> str:
    del subject
    return (
        "Made by cltr report. The page is complete in itself: it loads nothing and runs no script."
    )


def write_page(subject: Subject, out: Path) -> Path:
    """Write the page of a result to a file, whole or not at all."""
    page = page_of(subject)
    with write_beside(out, wait=True) as partial:
        partial.write_text(page, encoding="utf-8")
    return out
