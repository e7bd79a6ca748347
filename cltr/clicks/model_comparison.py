"""Several click models fitted to one log, compared on the same held-out clicks, and kept."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cltr.clicks.bias import affine_of, bias_of, examination_by_rank, harvested
from cltr.clicks.fit_data import FitData
from cltr.clicks.fit_tools import add_up, watched
from cltr.clicks.intervals import GROUPS, Spread
from cltr.clicks.model_file import save_click_model
from cltr.clicks.plots import BASELINES, check_picture, draw_fit
from cltr.clicks.scores import ClickScores, difference, score_chunk, score_statistics
from cltr.errors import DataError, UsageError
from cltr.files.storage import finite, make_folder, write_beside
from cltr.interfaces import ClickModel, Fittable
from cltr.types import ClickLog

SURE = 2.0
"""Standard errors by which a model must predict held-out clicks better to be told from another."""


class FitProgress:
    """Told what is going on; this one says nothing."""

    def stage(self, text: str, total: int | None = None) -> None:
        """A new stage begins."""

    def advance(self, n: int = 1) -> None:
        """So many more are done."""

    def note(self, text: str) -> None:
        """How it goes."""


@dataclass(frozen=True)
class Outputs:
    """Where to write."""

    models: Path | None = None
    """A folder, or for a single model a file that ends in .h5."""
    picture: Path | None = None

    @property
    def is_file(self) -> bool:
        return self.models is not None and self.models.suffix == ".h5"

    def model(self, name: str) -> Path | None:
        """The file of a model."""
        if self.models is None or self.is_file:
            return self.models
        return self.models / f"{name}.h5"

    def check(self, n_models: int) -> None:
        """Refuse now what would fail after the work."""
        if self.is_file and n_models > 1:
            raise UsageError(
                f"--out {self.models}: is one file, and {n_models} models are fitted; name a folder"
            )
        if self.picture is not None:
            check_picture(self.picture)


@dataclass(frozen=True)
class Fit:
    """One fitted model, and how well it predicts held-out clicks."""

    model: ClickModel
    scores: ClickScores
    seconds: float
    extras: dict[str, Any] = field(default_factory=dict)


def fit_models(
    source: FitData,
    models: Sequence[ClickModel],
    *,
    intervals: bool = False,
    outputs: Outputs | None = None,
    progress: FitProgress | None = None,
    spread: Spread | None = None,
) -> dict[str, Any]:
    """Fit, score, compare and save; a report ready for JSON, models from best to worst.

    Args:
        source: what to fit to.
        models: not fitted yet, each of another name.
        intervals: whether to give intervals of position and trust bias.
        outputs: where to write models and picture.
        progress: told how it goes.
        spread: makes the estimates that intervals need on a cluster; here by default.
    """
    outputs, progress = outputs or Outputs(), progress or FitProgress()
    began = time.perf_counter()
    outputs.check(len(models))
    chosen = _checked(source, models)
    fits = [_fit(source, model, intervals=intervals, progress=progress) for model in chosen]
    fits.sort(key=lambda one: -one.scores.log_likelihood)
    progress.stage("position bias", GROUPS + 2 if intervals else None)
    report: dict[str, Any] = {
        "log": str(source.path),
        "data": source.dataset.name,
        "top_k": source.top_k,
        "seed": source.seed,
        "sessions": source.has_sessions,
        "n_interactions": {
            "fitted": source.statistics[0].n_interactions,
            "held_out": source.statistics[1].n_interactions,
            "unused_test": source.n_unused,
        },
        "queries": int((source.whole.displays > 0).sum()),
        "held_out": "validation interactions" if source.alone else "a random fifth",
        "models": [_describe(one, fits[0], outputs) for one in fits],
        "harvested": harvested(source, intervals=intervals, tick=progress.advance, spread=spread),
        "winner": fits[0].model.name,
        "affine_winner": next((one.model.name for one in fits if one.extras["affine"]), None),
        **recommend(fits),
    }
    _write(report, fits, outputs)
    return report | {"seconds": round(time.perf_counter() - began, 3)}


def recommend(fits: Sequence[Fit]) -> dict[str, Any]:
    """Which models to use, by name: ``recommended`` in general, ``recommended_affine`` to correct.

    A model that has not converged is never recommended, nor is one that knows nothing of relevance
    or of ranks. Of affine models, the simplest that cannot be told from the best is: each value
    that all lists share must earn its place on held-out clicks. A model that is not affine is
    recommended if it predicts them better than that one, surely.

    ``against_affine`` has the better-scoring affine models that cannot be told from the recommended
    one, and by how much they score better.

    Args:
        fits: from best to worst.
    """
    usable = [one for one in fits if _converged(one) and _is_model_of_users(one.model)]
    affine = [one for one in usable if one.extras["affine"]]
    chosen = min(
        (one for one in affine if not is_better(affine[0].scores, one.scores)),
        key=lambda one: _n_shared(one.model),
        default=None,
    )
    best = chosen
    if usable and (chosen is None or is_better(usable[0].scores, chosen.scores)):
        best = usable[0]
    ahead = affine[: affine.index(chosen)] if chosen is not None else []
    return {
        "recommended": None if best is None else best.model.name,
        "recommended_affine": None if chosen is None else chosen.model.name,
        "against_affine": {
            one.model.name: difference(one.scores, chosen.scores)._asdict()
            for one in ahead
            if chosen is not None
        },
    }


def is_better(first: ClickScores, second: ClickScores) -> bool:
    """Whether the first model predicts held-out clicks better than the second, surely."""
    value, error = difference(first, second)
    return value > SURE * error  # false for NaN too


def _converged(fit: Fit) -> bool:
    return fit.model.fitted is not None and fit.model.fitted.convergence.converged


def _is_model_of_users(model: ClickModel) -> bool:
    """Not a baseline: documents differ, and so do ranks."""
    return bool(model.fitted and model.fitted.documents) and model.name not in BASELINES


def _n_shared(model: ClickModel) -> int:
    """Values that all lists share and that were not left at 0."""
    shared = {} if model.fitted is None else model.fitted.shared
    return sum(values.size for values in shared.values() if values.any())


def _checked(source: FitData, models: Sequence[ClickModel]) -> list[Fittable]:
    """The same models, if all of them can be fitted to the log."""
    names = [model.name for model in models]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f"--click-model {twice} is given twice; fit it once")
    chosen = []
    for model in models:
        if not isinstance(model, Fittable):
            raise UsageError(f"click model '{model.name}' cannot be fitted; it has fixed values")
        if needs_sessions(model) and not source.has_sessions:
            raise DataError(
                f"{source.path}: click model '{model.name}' needs single interactions, and this "
                "log has only counts; make the log again with --sessions (cltr ingest or cltr "
                "simulate), or fit pbm or trust-bias"
            )
        chosen.append(model)
    return chosen


def needs_sessions(model: Fittable) -> bool:
    """Whether counts by rank are too little to fit the model, or to score it."""
    return model.needs_sessions or not model.independent


def _fit(source: FitData, model: Fittable, *, intervals: bool, progress: FitProgress) -> Fit:
    began = time.perf_counter()
    fitted, held = source.statistics
    if source.has_sessions:
        progress.stage(f"{model.name}: count", fitted.n_interactions)
        offsets = source.dataset.offsets
        chunks = _watched(source.to_fit(), progress.advance)
        counts = add_up(model.count(chunk, offsets) for chunk in chunks)
    else:
        counts = fitted
    progress.stage(f"{model.name}: fit")
    with watched(lambda steps, value: progress.note(f"step {steps}, objective {value:,.1f}")):
        model.fit(counts, source.dataset)
    seconds = time.perf_counter() - began
    if source.has_sessions:
        progress.stage(f"{model.name}: score", held.n_interactions)
        n_queries = source.dataset.n_queries
        chunks = _watched(source.to_score(), progress.advance)
        scores = add_up(score_chunk(model, chunk, n_queries=n_queries) for chunk in chunks)
        assert scores is not None
    else:
        scores = score_statistics(model, held)
    examination = examination_by_rank(model, source)
    extras = {
        "examination": None if examination is None else examination.tolist(),
        "bias": bias_of(model, source, intervals=intervals),
        "affine": _correctable(model, source.top_k),
    }
    return Fit(model, scores, seconds, extras)


def _watched(chunks: Iterator[ClickLog], advance: Callable[[int], None]) -> Iterator[ClickLog]:
    for chunk in chunks:
        yield chunk
        advance(len(chunk))


def _correctable(model: ClickModel, top_k: int) -> bool:
    """Whether ips, dr and safe can correct with it."""
    return affine_of(model, top_k) is not None


def _describe(fit: Fit, best: Fit, outputs: Outputs) -> dict[str, Any]:
    model, scores = fit.model, fit.scores
    assert model.fitted is not None
    convergence = model.fitted.convergence
    behind = difference(fit.scores, best.scores)
    path = outputs.model(model.name)
    return {
        "name": model.name,
        "options": model.options.model_dump(mode="json"),
        "log_likelihood": scores.log_likelihood,
        "against_winner": behind._asdict(),
        "perplexity": scores.perplexity,
        "perplexity_by_rank": scores.perplexity_by_rank.tolist(),
        "conditional_perplexity": scores.conditional_perplexity,
        "conditional_perplexity_by_rank": scores.conditional_perplexity_by_rank.tolist(),
        "converged": convergence.converged,
        "steps": len(convergence.objective),
        "objective": float(convergence.objective[-1]) if len(convergence.objective) else None,
        "notes": list(convergence.notes),
        "shared": {name: values.tolist() for name, values in model.fitted.shared.items()},
        **fit.extras,
        "seconds": round(fit.seconds, 3),
        "file": None if path is None else str(path),
    }


def _write(report: dict[str, Any], fits: list[Fit], outputs: Outputs) -> None:
    folder = None if outputs.models is None or outputs.is_file else outputs.models
    if folder is not None:
        make_folder(folder)
    for fit in fits:
        path = outputs.model(fit.model.name)
        if path is not None:
            save_click_model(path, fit.model)
    picture = outputs.picture or (folder / "examination.png" if folder else None)
    report["picture"] = None if picture is None else str(picture)
    report["out"] = None if outputs.models is None else str(outputs.models)
    if picture is not None:
        draw_fit(finite(report), picture)
    if folder is not None:
        with write_beside(folder / "fit.json") as partial:
            text = json.dumps(finite(report), indent=2, allow_nan=False)
            partial.write_text(text + "\n", encoding="utf-8")
