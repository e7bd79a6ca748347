"""``cltr.fit``."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cltr.api.fit_report import FitReport
from cltr.api.ingest import ingest
from cltr.api.progress import fit_progress
from cltr.api.sources import DataLike, FileName, LogLike, file_of, named_data
from cltr.clicks.fit_data import open_fit_data_of
from cltr.clicks.intervals import Spread
from cltr.clicks.model_comparison import Outputs, fit_models
from cltr.clicks.plots import check_picture
from cltr.errors import UsageError
from cltr.experiment.models_to_fit import choose_models
from cltr.files.claims import reserve
from cltr.files.reserving import reserve_in
from cltr.files.storage import make_folder


def fit(
    log: LogLike,
    *,
    data: DataLike | None = None,
    click_model: str | Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    top_k: int | None = None,
    intervals: bool = False,
    seed: int = 1,
    cluster: str | None = None,
    out: FileName | None = None,
    plot: FileName | None = None,
    progress: bool | None = None,
) -> FitReport:
    """Fit click models and compare them on held-out clicks. Same as ``cltr fit``.

    Args:
        log: a log file, a :class:`Log`, or a table in memory, which is ingested into ``out`` with
            its interactions.
        data: data set of the log; by default the demo data, if the log has no documents of its own.
        click_model: one or more models to fit; by default all that the log allows.
        options: options of one model, such as ``{"sdbn.method": "em"}``, or of all, such as
            ``{"click-model.iterations": 100}``.
        top_k: number of ranks; all by default.
        intervals: compute bootstrap intervals over queries for position and trust bias.
        seed: seed of all random choices.
        cluster: ``ray`` or ``ray://host:port``, to compute the intervals on a Ray cluster.
        out: folder for models, picture and report, or a file (.h5) for one model. By default the
            name of the log with ``-models``.
        plot: file for a picture of examination by rank (.png, .svg, .pdf).
        progress: show progress bars; by default only in a terminal.
    """
    path = file_of(log)
    if plot is not None:
        check_picture(Path(plot))
    folder = Path(out) if out is not None else Path(f"{path.stem if path else 'log'}-models")
    if path is None:
        path = _kept(log, folder, data=data, progress=progress)
    named = named_data(data)
    source = open_fit_data_of(path, named, top_k=top_k, seed=seed)
    names = [click_model] if isinstance(click_model, str) else click_model
    models = choose_models(names, options, sessions=source.has_sessions)
    outputs = Outputs(folder, None if plot is None else Path(plot))
    bars_of = fit_progress(progress)
    with _reserved(outputs), bars_of as bars, _spread(cluster, intervals=intervals) as spread:
        report = fit_models(
            source, models, intervals=intervals, outputs=outputs, progress=bars, spread=spread
        )
    return FitReport(report, data=named if isinstance(named, str) else None)


@contextmanager
def _reserved(outputs: Outputs) -> Iterator[None]:
    """Claim what will be written."""
    models = outputs.models
    with (
        reserve_in(None if outputs.is_file else models, "fit.json"),
        reserve(models if outputs.is_file else None),
        reserve(outputs.picture),
    ):
        yield


@contextmanager
def _spread(cluster: str | None, *, intervals: bool) -> Iterator[Spread | None]:
    if cluster is None:
        yield None
        return
    if not intervals:
        raise UsageError(
            "--cluster: only --intervals are computed on a cluster; add --intervals, "
            "or leave it out"
        )
    from cltr.studies.ray_cluster import spread_on_ray

    with spread_on_ray(cluster) as spread:
        yield spread


def _kept(log: LogLike, folder: Path, *, data: DataLike | None, progress: bool | None) -> Path:
    """A table in memory as a log file among the models."""
    if folder.suffix == ".h5":
        raise UsageError(
            f"--out {folder}: a log in memory is saved beside the models; name a folder, not a file"
        )
    make_folder(folder)
    return ingest(log, out=folder / "log.h5", data=data, sessions=True, progress=progress).path
