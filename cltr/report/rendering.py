"""Tables and lines of a report as text for a terminal, and as HTML for a notebook."""

from collections.abc import Iterable
from html import escape
from io import StringIO

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from cltr.report.terminal import Terminal
from cltr.report.visible import visible

Tables = Iterable[Table | Text]
STYLES = {
    "bold": "font-weight:bold",
    "dim": "opacity:0.7",
    "italic": "font-style:italic",
    "red": "color:#b00020",
    "yellow": "color:#8a6100",
    "green": "color:#1b6e2c",
}
"""What a word of a style means in HTML; other words mean nothing."""


def print_tables(tables: Tables, console: Terminal | None = None) -> None:
    """To stdout, or to another console; lines that must stay whole are not folded."""
    console = console or Terminal()
    for each in tables:
        whole = isinstance(each, Text) and bool(each.no_wrap)
        console.print(each, soft_wrap=whole)


def as_text(tables: Tables, *, width: int) -> str:
    """Plain text with so many columns.

    Example:
        >>> table = Table("rank", "clicks")
        >>> table.add_row("1", "20")
        >>> print(as_text([Text("a log"), table], width=40).splitlines()[0])
        a log
    """
    text = StringIO()
    print_tables(tables, Terminal(file=text, width=width, color_system=None))
    return "\n".join(line.rstrip() for line in text.getvalue().rstrip("\n").split("\n"))


def as_html(tables: Tables) -> str:
    """HTML without scripts, links or classes; every text is escaped.

    Example:
        >>> as_html([Text("<b>", "bold")])
        '<div><p style="margin:0.2em 0;font-weight:bold">&lt;b&gt;</p></div>'
    """
    return f"<div>{''.join(map(_block, tables))}</div>"


def _block(each: Table | Text) -> str:
    if isinstance(each, Table):
        return _table(each)
    style = ";".join(["margin:0.2em 0", *_css(str(each.style))])
    return f'<p style="{style}">{_text(each)}</p>'


def _table(table: Table) -> str:
    title = "" if table.title is None else f"<caption>{_text(table.title)}</caption>"
    head = "".join(f"<th>{_text(column.header)}</th>" for column in table.columns)
    columns = [[*column.cells] for column in table.columns]
    sides = [f' style="text-align:{_side(column.justify)}"' for column in table.columns]
    body = "".join(
        f"<tr>{''.join(f'<td{s}>{_text(cell)}</td>' for s, cell in zip(sides, row, strict=True))}"
        "</tr>"
        for row in zip(*columns, strict=True)
    )
    head = f"<thead><tr>{head}</tr></thead>" if table.show_header else ""
    below = "" if table.caption is None else _block(_as_text(table.caption))
    return f"<table>{title}{head}<tbody>{body}</tbody></table>{below}"


def _side(justify: str) -> str:
    return justify if justify in ("right", "center") else "left"


def _text(value: RenderableType) -> str:
    """A cell or line, its words styled one by one; a line break stays one."""
    text = _as_text(value)
    pieces = (
        _styled(escape(visible(piece.plain)), [str(span.style) for span in piece.spans])
        for piece in text.divide(sorted({edge for span in text.spans for edge in span[:2]}))
    )
    return "".join(pieces).replace("\n", "<br>")


def _as_text(value: RenderableType) -> Text:
    return value if isinstance(value, Text) else Text(str(value))


def _styled(text: str, styles: list[str]) -> str:
    css = ";".join(rule for style in styles for rule in _css(style))
    return f'<span style="{css}">{text}</span>' if css else text


def _css(style: str) -> list[str]:
    return [STYLES[word] for word in style.split() if word in STYLES]
