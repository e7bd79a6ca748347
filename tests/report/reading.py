"""A page read back: its elements, texts and numbers, by the parser of the standard library."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

ALONE = {"meta", "br", "col", "link", "img", "input"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str | None]
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(one if isinstance(one, str) else one.text for one in self.children)

    def all(self, name: str) -> list["Element"]:
        found = [self] if self.name == name else []
        return found + [
            e for one in self.children if isinstance(one, Element) for e in one.all(name)
        ]

    def with_id(self, identifier: str) -> "Element":
        every = [one for one in self.walk() if one.attributes.get("id") == identifier]
        assert len(every) == 1, identifier
        return every[0]

    def walk(self):
        yield self
        for one in self.children:
            if isinstance(one, Element):
                yield from one.walk()

    @property
    def numbers(self) -> list[float]:
        """Exact values behind the numbers that are shown."""
        return [float(one.attributes["value"]) for one in self.all("data")]


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = Element("root", {})
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        new = Element(tag, dict(attrs))
        self.open[-1].children.append(new)
        if tag not in ALONE:
            self.open.append(new)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)


def read_page(html: str) -> Element:
    """The page; every element must be closed where it should be."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == [reader.root], "an element is not closed"
    return reader.root
