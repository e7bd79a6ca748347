"""Text from elsewhere is shown as it is: no markup, no colours, no cursor."""

import io

import pytest
from rich.table import Table
from rich.text import Text

from cltr.report.rendering import as_html, as_text
from cltr.report.terminal import Terminal
from cltr.report.visible import visible

HOSTILE = ["log[v2].h5", "m[/x].h5", "[red]a", ":smile:", "\\[bold]", "a\x1b[31mb", "a\x9b1mb"]


def told(*renderables, **options) -> str:
    text = io.StringIO()
    terminal = Terminal(file=text, width=60, force_terminal=True, **options)
    for each in renderables:
        terminal.print(each)
    return text.getvalue()


@pytest.mark.parametrize("name", HOSTILE)
def test_names_appear_as_they_are(name):
    table = Table("file", title=name, caption=name)
    table.add_row(name)
    for found in (told(name), told(Text(name)), told(table), as_text([table], width=60)):
        assert visible(name) in found


@pytest.mark.parametrize("name", HOSTILE)
def test_no_code_reaches_the_terminal(name):
    assert "\x1b[31m" not in told(Text(name))
    assert "\x9b" not in told(Text(name))


def test_styles_of_our_own_still_work():
    assert "\x1b[1mruns\x1b[0m" in told(Text("runs", "bold"), color_system="standard")


def test_html_shows_tags_and_brackets_as_text():
    table = Table("query")
    table.add_row("<script>alert(1)</script>[red]\u202e")
    found = as_html([table])
    assert "<script>" not in found
    assert "&lt;script&gt;alert(1)&lt;/script&gt;[red]\ufffd" in found


@pytest.mark.parametrize(
    "text", ["plain", "na\u00efve \u65e5\u672c \u05e9\u05dc\u05d5\u05dd", "two\nlines\ttab"]
)
def test_readable_text_stays_what_it_is(text):
    assert visible(text) == text


def test_half_a_character_can_be_printed():
    visible("a\udcff").encode()
