"""Docstrings as Markdown, for the pages that are made from code."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Example|Examples|References):(.*)$")
LISTED = ("Args", "Attributes", "Raises")
LETTERS = {
    r"\\alpha": "α",
    r"\\beta": "β",
    r"\\epsilon": "ε",
    r"\\kappa": "κ",
    r"\\lambda": "λ",
    r"\\mu": "μ",
    r"\\omega": "ω",
    r"\\pi": "π",
    r"\\rho": "ρ",
    r"\\sigma": "σ",
    r"\\tau": "τ",
    r"\\gamma": "γ",
    r"\\theta": "θ",
    r"\\delta": "δ",
    r"\\partial ?": "∂",
    r"\\sum": "Σ",
    r"\\infty": "∞",
    r"\\le\b": "≤",
    r"\\ge\b": "≥",
    r"\\hat U": "Û",
    r"\\[td]?frac\{([^{}]*)\}\{([^{}]*)\}": r"(\1) / (\2)",
    r"\\text\{([^{}]*)\}": r"\1",
    r"\\[bB]ig": "",
    r"\\hat R": "R̂",
    r"\\(max|min|log|sqrt)": r"\1",
    r"_0\b": "₀",
    r"_-": "₋",
    r"_\+": "₊",
    r"\\q?quad|\\[,;]": " ",
}
"""TeX of the docstrings, and what a page shows."""


def signature(thing: Any) -> str:
    """Names and defaults; types stand in the source."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)"
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in found.parameters.values()
    ]
    short = found.replace(parameters=bare, return_annotation=inspect.Signature.empty)
    text = re.sub(r"<([\w.]+)[^>]*>", r"\1", str(short))
    return text if len(text) < 80 else text.replace("(", "(\n    ", 1).replace(", ", ",\n    ")


def described(thing: Any) -> Iterator[str]:
    """A docstring in Google's form as Markdown."""
    text = inspect.getdoc(thing) or ""
    if text == (inspect.getdoc(type(thing)) or "") or text.startswith(f"{thing!r}"):
        text = ""
    section = ""
    for line in text.splitlines():
        found = SECTION.match(line)
        if found:
            section = found[1]
            title = section.replace("Args", "Arguments")
            yield from (f"**{title}**{plain(found[2])}", "")
            if section.startswith("Example"):
                yield "```text"
        elif section.startswith("Example"):
            if line and not line.startswith(" "):
                yield from ("```", "", plain(line))
                section = ""
            else:
                yield line.removeprefix("    ")
        elif line.startswith(".. math::") or line.startswith("          "):
            yield "    " + formula(line.removeprefix(".. math::").strip())
        else:
            yield _argument(line) if section in LISTED else plain(line)
    if section.startswith("Example"):
        yield "```"
    yield ""


def _argument(line: str) -> str:
    bare = line.removeprefix("    ")
    found = re.match(r"(\*{0,2}[\w, *]+): (.*)", bare)
    if found and not bare.startswith(" "):
        return f"- `{found[1]}`: {plain(found[2])}"
    return "  " + plain(bare.strip()) if bare.strip() else ""


def summary(thing: Any) -> str:
    """First paragraph of a docstring, in one line."""
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")


def formula(text: str) -> str:
    """TeX in plain characters."""
    for tex, shown in LETTERS.items():
        text = re.sub(tex, shown, text)
    return re.sub(r" +", " ", text)


def plain(text: str) -> str:
    """Sphinx's marks as Markdown's."""
    text = re.sub(r":math:`([^`]*)`", lambda found: f"`{formula(found[1])}`", text)
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text)
    return text.replace("``", "`")


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return plain(text).replace("|", "\\|").replace("\n", " ")


def attributes(thing: type) -> Iterator[str]:
    """A table of a class's attributes: the string below each of them says what it is."""
    body = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0].body  # type: ignore[attr-defined]
    rows = [
        (one.target.id, f"`{ast.unparse(one.value)}`" if one.value else "", after.value.value)
        for one, after in pairwise(body)
        if isinstance(one, ast.AnnAssign) and isinstance(after, ast.Expr)
    ]
    if rows:
        yield from ("| attribute | default | what it is |", "|---|---|---|")
        yield from (f"| `{name}` | {value} | {cell(text)} |" for name, value, text in rows)
        yield ""


def methods(thing: type) -> Iterator[str]:
    """Methods of a class, those first that a subclass must define."""
    own = {
        name: member.fget if isinstance(member, property) else member
        for name, member in vars(thing).items()
        if not name.startswith("_") and (isinstance(member, property) or inspect.isroutine(member))
    }
    for name, member in sorted(own.items(), key=lambda pair: not _is_required(pair[1])):
        call = re.sub(
            r"\((\s*)(?:self|cls)(?:,\s*)?", r"(\1", signature(getattr(member, "__func__", member))
        )
        yield from (f"#### {thing.__name__}.{name}", "", "```text", f"{name}{call}", "```", "")
        yield from ("Required.", "") if _is_required(member) else ()
        yield from described(member)


def _is_required(member: Any) -> bool:
    return getattr(member, "__isabstractmethod__", False)
