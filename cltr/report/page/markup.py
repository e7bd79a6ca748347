"""HTML and SVG elements; every text is escaped, and what cannot be seen is made visible."""

from collections.abc import Iterable
from html import escape
from typing import Any, TypeAlias

from cltr.report.visible import visible

LONGEST = 120
"""Characters of a name that a page shows; of longer ones it says how long they are."""


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Content: TypeAlias = "str | Html | Iterable[Content] | None"
"""What an element contains; None is nothing."""
EMPTY = Html("")


def text(value: str) -> Html:
    """Any text as it is shown.

    Example:
        >>> text("<b>")
        '&lt;b&gt;'
    """
    return Html(escape(visible(value), quote=False))


def join(*contents: Content) -> Html:
    """Contents one after the other."""
    return Html("".join(_pieces(contents)))


def _pieces(content: Content) -> Iterable[str]:
    if content is None:
        return
    if isinstance(content, Html):
        yield content
    elif isinstance(content, str):
        yield text(content)
    else:
        for each in content:
            yield from _pieces(each)


_ALONE = {"meta", "br", "col", "line", "rect", "circle", "path", "polyline", "polygon"}
"""Elements without contents."""


def element(name: str, /, *contents: Content, **attributes: Any) -> Html:
    """An element. ``class_`` and ``aria_label`` stand for ``class`` and ``aria-label``.

    Attributes that are None or False are left out; True stands for the name alone.

    Example:
        >>> element("p", "a < b", class_="note", hidden=True)
        '<p class="note" hidden>a &lt; b</p>'
        >>> element("br")
        '<br>'
    """
    written = "".join(
        _attribute(key.removesuffix("_").replace("_", "-"), value)
        for key, value in attributes.items()
    )
    if name in _ALONE and not contents:
        return Html(
            f"<{name}{written}>" if name in ("meta", "br", "col") else f"<{name}{written}/>"
        )
    return Html(f"<{name}{written}>{join(*contents)}</{name}>")


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    if isinstance(value, float):
        value = f"{value:.2f}".rstrip("0").rstrip(".")
    return f' {name}="{escape(visible(str(value)))}"'


def shortened(value: str, most: int = LONGEST) -> str:
    """The beginning of a long text, and how long it is.

    Example:
        >>> shortened("aaaa", most=3)
        'aaa… (4 characters)'
    """
    return value if len(value) <= most else f"{value[:most]}… ({len(value):,} characters)"


def name_of(value: str, *, most: int = LONGEST, **attributes: Any) -> Html:
    """An id or a name from elsewhere; its direction of writing stays its own."""
    return element("bdi", shortened(value, most), **({"class_": "id"} | attributes))


def command(words: str) -> Html:
    """A command to copy."""
    return element("pre", element("code", words), class_="command", tabindex="0")


def paragraphs(sentences: Iterable[Content], **attributes: Any) -> Html:
    """A paragraph for each sentence."""
    return join(element("p", each, **attributes) for each in sentences)


def items(sentences: Iterable[Content], **attributes: Any) -> Html:
    """A list; nothing if it is empty."""
    found = [element("li", each) for each in sentences]
    return element("ul", found, **attributes) if found else EMPTY


def table(
    caption: Content,
    head: Iterable[Content],
    rows: Iterable[Iterable[Content]],
    *,
    words: int = 1,
    strong: int | None = None,
) -> Html:
    """A table with a caption; it scrolls by itself where the page is narrow.

    Args:
        caption: what it shows.
        head: a title for each column.
        rows: the first cell of each row is its title.
        words: leading columns with words, which stand left; numbers stand right.
        strong: number of the row that stands out.
    """
    titles = [
        element("th", title, scope="col", class_=None if i < words else "number")
        for i, title in enumerate(head)
    ]
    body = [
        element(
            "tr",
            [
                element("th", cell, scope="row")
                if i == 0
                else element("td", cell, class_=None if i < words else "number")
                for i, cell in enumerate(row)
            ],
            class_="strong" if number == strong else None,
        )
        for number, row in enumerate(rows)
    ]
    inner = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", titles)),
        element("tbody", body),
    )
    return element("div", inner, class_="scroll", role="group", tabindex="0", aria_label="table")


def section(identifier: str, title: str, *contents: Content) -> Html:
    """A part of the page with its title; nothing if it has no contents."""
    inside = join(*contents)
    if not inside:
        return EMPTY
    heading = element("h2", title, id=f"{identifier}-title")
    return element("section", heading, inside, id=identifier, aria_labelledby=f"{identifier}-title")


def disclosure(summary: Content, *contents: Content, open_: bool = False) -> Html:
    """Contents that open when asked; without scripts."""
    return element("details", element("summary", summary), *contents, open=open_)
