"""Numbers on a page: rounded for people, with the exact value behind them."""

from cltr.looks import with_sign
from cltr.report.page.markup import Html, element

NONE = "not known"


def _data(value: float, shown: str) -> Html:
    """The exact value is the element's ``value``, so that a program can read the page too."""
    return element("data", shown, value=repr(float(value)))


def decimal(value: float | None, *, digits: int = 4) -> Html:
    """A plain number.

    Example:
        >>> decimal(0.123456)
        '<data value="0.123456">0.1235</data>'
    """
    return Html(NONE) if value is None else _data(value, f"{value:.{digits}f}")


def signed(value: float | None, *, digits: int = 4) -> Html:
    """A difference."""
    if value is None:
        return Html(NONE)
    return _data(value, with_sign(value, digits).replace("-", "\u2212"))


def percent(value: float | None, *, digits: int = 1) -> Html:
    """A share."""
    return Html(NONE) if value is None else _data(value, f"{100 * value:.{digits}f}%")


def points(value: float | None) -> Html:
    """A loss of NDCG in points; 0.02 is two.

    Example:
        >>> points(0.372)
        '<data value="0.372">37.2 points</data>'
    """
    return Html(NONE) if value is None else _data(value, f"{points_text(value)} points")


def points_text(value: float) -> str:
    """The same without markup, in the words of the verdict."""
    return f"{100 * value:{'.2g' if 0 < abs(value) < 1e-3 else '.1f'}}"


def count(value: float | None) -> Html:
    """How many."""
    return Html(NONE) if value is None else _data(value, f"{value:,.0f}")


def interval(low: float | None, high: float | None, *, digits: int = 4) -> Html:
    """Both ends of an interval."""
    if low is None or high is None:
        return Html("none")
    return Html(f"{signed(low, digits=digits)} to {signed(high, digits=digits)}")
