"""Write a plugin package that installs and passes its own tests: ``cltr plugins new``."""

import re
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template

from cltr.errors import UsageError
from cltr.files.claims import hidden_folder
from cltr.files.storage import make_folder
from cltr.interfaces import API_VERSION
from cltr.options import did_you_mean
from cltr.plugins.compatibility import CORE
from cltr.plugins.contracts import NAME

TEMPLATES = "cltr.plugins.templates"


@dataclass(frozen=True)
class Kind:
    """What a package of one kind says of itself."""

    summary: str
    usage: str
    """How the component is used, with ``$name`` for its name."""


KINDS = {
    "click-model": Kind("A click model", "cltr train --click-model $name"),
    "reward": Kind("A reward", "cltr train --reward $name"),
    "estimator": Kind("An estimator", "cltr train --estimator $name"),
    "ranker": Kind("A ranker", "cltr train --ranker $name"),
    "scorer": Kind("A scorer", "cltr train --scorer $name"),
    "log-reader": Kind("A log reader", "cltr ingest views.jsonl --format $name --out log.h5"),
    "metric": Kind("A metric", "cltr evaluate runs/001-prpo-dr --metric $name"),
    "exporter": Kind("An exporter", "cltr export runs/001-prpo-dr --to $name"),
    "data-layout": Kind("A data layout", "cltr data import folder --preset $name --out data.h5"),
    "finding": Kind("A question for cltr check", "cltr check log.h5"),
    "command": Kind("A command", "cltr $name runs/001-prpo-dr"),
}
"""What can be made, by the role that it registers."""


def new_package(name: str, kind: str, *, folder: Path | None = None) -> list[Path]:
    """Write a package with one component, its test, and all that pip needs.

    Args:
        name: of the component, as users will type it; the package is called ``cltr-NAME``.
        kind: one of :data:`KINDS`.
        folder: the folder to write, which must not exist; ``cltr-NAME`` by default.

    Returns:
        The files that were written.
    """
    if kind not in KINDS:
        raise UsageError(
            f"no kind '{kind}'; there are: {', '.join(KINDS)}{did_you_mean(kind, KINDS)}"
        )
    name = name.removeprefix(f"{CORE}-")
    if not NAME.fullmatch(name) or name[0].isdigit():
        raise UsageError(
            f"'{name}' is not a name; a name begins with a letter and has lower-case letters, "
            "digits and single hyphens, such as 'my-reward'"
        )
    target = folder or Path(f"{CORE}-{name}")
    if target.exists():
        raise UsageError(f"{target}: exists already; choose another name, or another --out")
    values = _values(name, kind)
    values["Class"] = _free_name(values["Class"], kind)
    module = values["module"]
    made = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        f"{module}.py": f"{kind}.py",
        f"tests/test_{module}.py": f"{kind}_test.py",
    }
    make_folder(target.parent)
    with hidden_folder(target.parent) as hidden:
        whole = hidden / target.name
        (whole / "tests").mkdir(parents=True)
        for path, template in made.items():
            _write(whole / path, template, values)
        whole.rename(target)
    return [target / path for path in made]


def _values(name: str, kind: str) -> dict[str, str]:
    words = name.replace("_", "-").split("-")
    return {
        "name": name,
        "package": f"{CORE}-{name}",
        "module": f"{CORE}_{'_'.join(words)}",
        "Class": "".join(word.capitalize() for word in words),
        "summary": KINDS[kind].summary,
        "usage": Template(KINDS[kind].usage).substitute(name=name),
        "core": version(CORE),
        "api": API_VERSION,
    }


def _free_name(name: str, kind: str) -> str:
    """The class's name, with ``My`` before it where the template uses that word otherwise."""
    words = set(re.findall(r"\w+", _template(f"{kind}.py") + _template(f"{kind}_test.py")))
    return name if name not in words else f"My{name}"


def _template(name: str) -> str:
    return files(TEMPLATES).joinpath(f"{name}.txt").read_text(encoding="utf-8")


def _write(path: Path, template: str, values: dict[str, str]) -> None:
    path.write_text(Template(_template(template)).substitute(values), encoding="utf-8")
