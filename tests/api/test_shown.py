"""Guards what notebooks and terminals show: whole, true to the result, and nothing unescaped."""

from html.parser import HTMLParser

import pytest
from rich.table import Table
from rich.text import Text

import cltr
from cltr.api.progress import wanted
from cltr.report.rendering import as_html, as_text
from tests.api.conftest import SMALL

HARMLESS = {"div", "p", "span", "table", "caption", "thead", "tbody", "tr", "th", "td", "br"}


class Reader(HTMLParser):
    """Tags and attributes of a page, and its words."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.words = set(), set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data):
        self.words.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    assert reader.tags <= HARMLESS
    assert reader.attributes <= {"style"}
    return reader


EVIL = '<script>alert("1")</script>[link=javascript:alert(1)]x[/link]'


@pytest.mark.parametrize("place", ["line", "cell", "header", "title"])
def test_nothing_of_a_name_becomes_html(place):
    table = Table(EVIL if place == "header" else "a", title=EVIL if place == "title" else None)
    table.add_row(EVIL if place == "cell" else "b")
    page = as_html([Text(EVIL, EVIL)] if place == "line" else [table])
    assert "<script" not in page
    assert '<script>alert("1")</script>' in "".join(read(page).words)


def test_styles_and_sides_are_kept():
    table = Table("rank", title="By rank")
    table.add_column("clicks", justify="right")
    table.add_row("1", Text.assemble("2", ("0", "bold")))
    page = as_html([table, Text("done", "green")])
    assert "<caption>By rank</caption>" in page
    assert '<td style="text-align:right">2<span style="font-weight:bold">0</span></td>' in page
    assert '<p style="margin:0.2em 0;color:#1b6e2c">done</p>' in page


def test_a_line_that_must_stay_whole_is_not_folded():
    line = "word " * 30
    assert as_text([Text(line, no_wrap=True)], width=40) == line.rstrip()
    assert len(as_text([Text(line)], width=40).splitlines()) > 3


def test_every_result_shows_itself(impressions):
    log = cltr.ingest(impressions, out="log.h5")
    options = {"click-model.iterations": 5}
    results = {
        "log log.h5": log,
        "queries shown": cltr.check(log),
        "held out": cltr.fit(log, click_model="pbm", options=options, out="models"),
        "method prpo, reward ips": cltr.train(**SMALL, out="run"),
    }
    for words, result in results.items():
        assert words in " ".join(repr(result).split())
        assert words in " ".join("".join(read(result._repr_html_()).words).split())
        assert result.table().num_rows == len(result.to_frame()) > 0
    again = cltr.load("run")
    assert repr(again) == repr(results["method prpo, reward ips"])


def test_a_name_in_a_log_is_text_in_a_notebook(impressions, here):
    impressions["query"] = [f"<img src=x>{query}" for query in impressions["query"]]
    log = cltr.ingest(impressions, out=here / "<b>[red]log.h5")
    assert "<b>[red]log.h5" in "".join(read(log._repr_html_()).words)
    assert "<b>[red]log.h5" in repr(log).replace("\n", "")


def test_bars_are_shown_where_one_asks_or_in_a_terminal(monkeypatch, capsys, impressions):
    cltr.ingest(impressions, out="log.h5")
    assert capsys.readouterr() == ("", "")
    cltr.ingest(impressions, out="again.h5", progress=True)
    assert "100%" in capsys.readouterr().err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert wanted(None) and wanted(True) and not wanted(False)
