"""How results are shown in a terminal and in a notebook, and as tables."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cltr.errors import CltrError
from cltr.report.rendering import Tables, as_html, as_text

if TYPE_CHECKING:
    import pandas
    import pyarrow

WIDTH = 100
"""Columns of a result in a terminal."""
UNFOLDED = 10_000
"""Columns where nothing needs to be folded: in HTML, in a file, in a pipe."""


class Shown(ABC):
    """Base class of results; printed in the same way as by the command line."""

    @abstractmethod
    def _tables(self, width: int) -> Tables:
        """Tables and lines, for so many columns."""

    @abstractmethod
    def _rows(self) -> Sequence[Mapping[str, Any]]:
        """The main table, row by row; all rows have the same keys."""

    def tables(self) -> Tables:
        """Return the tables and lines that the command line prints."""
        return self._tables(UNFOLDED)

    def __repr__(self) -> str:
        return as_text(self._tables(WIDTH), width=WIDTH)

    def _repr_html_(self) -> str:
        return as_html(self._tables(UNFOLDED))

    def table(self) -> "pyarrow.Table":
        """Return the main table as a pyarrow table."""
        import pyarrow

        return pyarrow.Table.from_pylist([dict(row) for row in self._rows()])

    def to_frame(self) -> "pandas.DataFrame":
        """Return the main table as a pandas data frame; pandas must be installed."""
        try:
            import pandas
        except ImportError as error:
            raise CltrError(
                "to_frame needs pandas: pip install pandas; table() needs nothing more"
            ) from error
        return pandas.DataFrame([dict(row) for row in self._rows()])


def by_rank(impressions: Iterable[int], rates: Iterable[float]) -> list[dict[str, Any]]:
    """Return impressions and clicks per impression, one row for each rank."""
    both = enumerate(zip(impressions, rates, strict=True), start=1)
    return [
        {"rank": rank, "impressions": shown, "click_rate": rate} for rank, (shown, rate) in both
    ]
