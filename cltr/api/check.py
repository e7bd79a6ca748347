"""``cltr.check``."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cltr.api.choices import chosen_component
from cltr.api.fit_report import FittedModel
from cltr.api.ingest import ingest
from cltr.api.log import LogCheck
from cltr.api.sources import FileName, LogLike, file_of
from cltr.checks.log_check import check_log
from cltr.clicks.plots import check_picture
from cltr.errors import UsageError
from cltr.experiment.components import build
from cltr.files.claims import hidden_folder, reserve
from cltr.interfaces import ClickModel
from cltr.options import Choice
from cltr.report.check_picture import draw_check


def check(
    log: LogLike,
    *,
    click_model: str | ClickModel | FittedModel | None = None,
    options: Mapping[str, Any] | None = None,
    plot: FileName | None = None,
) -> LogCheck:
    """Find out what a log can be used for, and why. Same as ``cltr check``.

    Args:
        log: a log file, a :class:`Log`, or a table in memory, which is ingested first.
        click_model: click model to test on the log, if you have one.
        options: options of the click model, such as ``{"click-model.eta": 2}``.
        plot: file for a picture of the log (.png, .svg, .pdf).
    """
    if plot is not None:
        check_picture(Path(plot))
    model = _model(click_model, options)
    path = file_of(log)
    with reserve(None if plot is None else Path(plot)):
        if path is not None:
            found = check_log(path, model)
        else:
            with hidden_folder() as folder:
                made = ingest(log, out=folder / "log.h5", progress=False)
                found = replace(check_log(made.path, model), log="data frame")
        if plot is not None:
            draw_check(found, Path(plot))
    return LogCheck(**vars(found))


def _model(
    chosen: str | ClickModel | FittedModel | None, options: Mapping[str, Any] | None
) -> ClickModel | None:
    """The click model that was named, with its options."""
    if isinstance(chosen, ClickModel) and chosen.fitted is not None:
        return chosen
    table = chosen_component("click_model", chosen, options)
    if chosen is None:
        if table:
            raise UsageError("-o click-model: name the click model, with --click-model")
        return None
    model: ClickModel = build("click-model", Choice(**table))
    return model
