"""The terminal: text is shown as it is, never taken for markup, a colour code or a command."""

from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment

from cltr.report.visible import visible


class _Visible:
    """Something to print, with all of its characters visible."""

    def __init__(self, renderable: RenderableType) -> None:
        self.renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


class Terminal(Console):
    """A console for text from elsewhere: square brackets are square brackets."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; the options are those of rich."""
        super().print(*(_Visible(each) for each in objects), **options)
