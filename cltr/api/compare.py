"""``cltr.compare``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cltr.api.comparison import Comparison
from cltr.api.progress import cell_progress
from cltr.api.sources import DataLike, FileName, named_data
from cltr.data.dataset_file import save_dataset
from cltr.errors import UsageError
from cltr.experiment.config import CURRENT, nest_options
from cltr.files.storage import make_folder
from cltr.report.page.subject import PAGE
from cltr.studies import compare as studies
from cltr.studies.methods import parse_methods
from cltr.studies.study import Study, merged
from cltr.types import Dataset

Methods = Sequence[str] | Mapping[str, str]


def compare(
    methods: Methods = (),
    *,
    study: FileName | None = None,
    interactions: str | float | Sequence[float] | None = None,
    seeds: int | str | Sequence[int] | None = None,
    users: str | Sequence[str] = (),
    data: DataLike | None = None,
    click_model: str | None = None,
    metric: str | None = None,
    options: Mapping[str, Any] | None = None,
    skyline: bool | None = None,
    title: str | None = None,
    out: FileName = "comparison",
    workers: int | None = None,
    cluster: str | None = None,
    plugins: Sequence[FileName] = (),
    progress: bool | None = None,
    report: bool = True,
) -> Comparison:
    """Compare methods over numbers of interactions, seeds and users. Same as ``cltr compare``.

    Run the same call again to resume. Finished runs are not computed again.

    Args:
        methods: for example ``["prpo/dr", "careful: prpo estimator.clip=0.5"]``, or by name, as in
            ``{"careful": "prpo estimator.clip=0.5"}``.
        study: a study file with values for everything that is not given.
        interactions: numbers of training interactions, or ``1e2..1e9:25``. [1e3, 1e4, 1e5, 1e6]
        seeds: number of seeds, or a list of seeds. [3]
        users: click model of the simulated users, one name or several.
        data: the data set: a file, or a :class:`Dataset`, which is written into ``out``. [demo]
        click_model: assumed click model. [trust-bias]
        metric: metric to train for. [dcg]
        options: options of all methods, by ``role.key``.
        skyline: also train a reference ranker on the true labels. [True]
        title: title of the picture.
        out: folder to write.
        workers: worker processes. [number of cores]
        cluster: ``ray`` or ``ray://host:port``, to run on a Ray cluster.
        plugins: plugin files that the worker processes load.
        progress: show progress bars; by default only in a terminal.
        report: also write the HTML report, ``report.html`` in the folder.
    """
    if study is None and not methods:
        raise UsageError("give methods with -m, such as -m prpo/dr -m dr, or a study file")
    folder, named = Path(out), named_data(data)
    grid = {"interactions": _list(interactions), "seeds": _list(seeds), "users": _list(users)}
    base = {"data": _kept(named, folder), "click_model": click_model, "metric": metric}
    values = _gather(
        None if study is None else Path(study),
        _texts(methods),
        options or {},
        given={**grid, "skyline": skyline, "title": title},
        base={key: value for key, value in base.items() if value is not None},
    )
    parsed = Study.parse(values, owner="")
    if isinstance(named, Dataset):
        make_folder(folder)
        save_dataset(named, folder / KEPT, fingerprint=named.fingerprint)
    with cell_progress(progress) as update:
        result = studies.compare(
            parsed,
            folder,
            workers=workers,
            cluster=cluster or "",
            plugins=tuple(map(Path, plugins)),
            on_progress=update,
        )
    found = Comparison(result)
    if report:
        found.report().save(folder / PAGE)
    return found


KEPT = "data.h5"
"""File of a data set that was in memory."""


def _kept(data: str | Dataset | None, folder: Path) -> str | None:
    return str(folder / KEPT) if isinstance(data, Dataset) else data


def _list(value: Any) -> Any:
    """Several values as a list; one word of users too; None where nothing was asked."""
    if isinstance(value, tuple | list):
        return list(value) or None
    return value


def _texts(methods: Methods) -> list[str]:
    if isinstance(methods, str):
        return [methods]
    if isinstance(methods, Mapping):
        return [f"{name}: {text}" for name, text in methods.items()]
    return [*methods]


def _gather(
    study: Path | None,
    methods: Sequence[str],
    options: Mapping[str, Any],
    *,
    given: Mapping[str, Any],
    base: Mapping[str, Any],
) -> dict[str, Any]:
    """Study file, then keywords, then options, each on top of the one before."""
    values: dict[str, Any] = Study.load(study) if study else {"version": CURRENT}
    if methods:
        values["methods"] = parse_methods(methods)
        values["panels"] = {}
    if not values.get("methods"):
        raise UsageError(f"{study}: no methods; a study needs a table [methods.NAME]")
    below = values.get("base", {})
    if not isinstance(below, dict):
        raise UsageError(f"{study}: base is {below!r}; it must be a table of options")
    shared = {**below, **base}
    for role, chosen in nest_options(options).items():
        shared[role] = merged(shared.get(role), chosen)
    asked = {key: value for key, value in given.items() if value is not None}
    if isinstance(asked.get("users"), str):
        asked["users"] = [asked["users"]]
    return values | asked | {"base": shared}
