"""The style of a page: the shared colours as CSS variables, light and dark, and the style sheet."""

from importlib import resources

from cltr.looks import DARK_SERIES, DECISIONS, OUTCOMES, RANKERS, SERIES, Look

LIGHT_PAGE = {
    "page": "#f6f7f9",
    "card": "#ffffff",
    "ink": "#16202a",
    "soft": "#4d5a67",
    "edge": "#dfe4ea",
    "grid": "#c3ccd5",
    "code": "#f0f3f6",
    "link": "#005a8f",
    "focus": "#e69f00",
    "up": "#00664f",
    "down": "#a83a00",
}
DARK_PAGE = {
    "page": "#12181f",
    "card": "#1a222b",
    "ink": "#e6ebf0",
    "soft": "#a9b6c3",
    "edge": "#2f3b47",
    "grid": "#465563",
    "code": "#141b22",
    "link": "#7cc7f7",
    "focus": "#f2bd3f",
    "up": "#3fd0a4",
    "down": "#ff9a4d",
}


def style_sheet() -> str:
    """All of the page's CSS."""
    rules = resources.files("cltr.report.page").joinpath("style.css").read_text(encoding="utf-8")
    light = _variables(LIGHT_PAGE | _named("light") | _series(SERIES))
    dark = _variables(DARK_PAGE | _named("dark") | _series(DARK_SERIES))
    badges = "".join(
        f".decision-{name}{{background:var(--decision-{name})}}" for name in DECISIONS
    ) + "".join(f".outcome-{name}{{color:var(--{name})}}" for name in OUTCOMES)
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{rules}{badges}"
    )


def _named(page: str) -> dict[str, str]:
    def colours(looks: dict[str, Look], prefix: str = "") -> dict[str, str]:
        return {f"{prefix}{name}": getattr(look, page) for name, look in looks.items()}

    return colours(RANKERS, "ranker-") | colours(DECISIONS, "decision-") | colours(OUTCOMES)


def _series(colours: tuple[str, ...]) -> dict[str, str]:
    return {f"series-{number}": colour for number, colour in enumerate(colours)}


def _variables(values: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in values.items())


def ranker_colour(name: str) -> str:
    """The colour of a ranker, for an SVG."""
    return f"var(--ranker-{name})"


def series_colour(number: int) -> str:
    """The colour of a curve, for an SVG."""
    return f"var(--series-{number % len(SERIES)})"
