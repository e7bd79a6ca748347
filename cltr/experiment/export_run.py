"""Export the learned ranker of a finished run, checked against the run's own scores."""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from cltr.documents import Documents
from cltr.errors import CltrError, UsageError
from cltr.experiment.components import build
from cltr.experiment.export_card import card
from cltr.experiment.rank_queries import Candidates
from cltr.experiment.run_model import RunModel
from cltr.extensions import Exporter, TrainedRanker
from cltr.files.claims import reserve
from cltr.files.storage import write_beside
from cltr.interfaces import Enforced
from cltr.options import Choice
from cltr.types import Floats, Lists

MOST_COMPARED = 20_000
"""Documents whose scores are compared; whole lists."""
TOLERANCE = 1e-5
"""Largest difference of a score, as a share of the spread of the run's scores."""


def export(
    path: Path,
    *,
    to: str,
    out: Path | None = None,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the learned ranker of a run for another system, and a card beside it.

    Args:
        path: the run's folder.
        to: name of the exporter.
        out: the file; ``policy`` with the exporter's suffix in the run's folder by default. It
            appears only if its scores agree with those of the run.
        options: of the exporter.
    """
    exporter: Exporter = build("exporter", Choice(name=to, **(options or {})), owner=to)
    run = RunModel.open(path)
    target = out or path / f"policy{exporter.suffix}"
    beside = target.with_name(f"{target.name}.md")
    if run.inputs.production and run.inputs.matched:
        raise UsageError(
            f"{path}: the model adds to scores that were matched to how often production showed "
            "documents; other systems have no such scores. Train on a log with production's scores "
            "(cltr ingest --production)"
        )
    with reserve(beside), write_beside(target) as partial:
        exporter.write(_ranker(run), partial)
        documents, own = _documents(run)
        found = exporter.scores(partial, documents)
        difference = _difference(found, own, Lists.of_offsets(documents.offsets))
        if not difference <= TOLERANCE:
            raise CltrError(
                f"{target}: the exported ranker gives other scores than the run: they differ by up "
                f"to {difference:.2g} of the spread of scores, and at most {TOLERANCE:g} is "
                f"accepted; nothing was written. Either '{to}' computes with fewer digits than the "
                "features need, or this is a fault of the exporter"
            )
        result = {
            "run": str(path),
            "to": to,
            "out": str(target),
            "card": str(beside),
            "documents_compared": len(documents),
            "largest_difference": difference,
            "notes": _notes(run),
        }
        with write_beside(beside) as words:
            words.write_text(card(run, result), encoding="utf-8")
    return result


def _ranker(run: RunModel) -> TrainedRanker:
    inputs = run.inputs
    return TrainedRanker(
        scorer=run.components.scorer.name,
        state=run.model.state(),
        n_features=inputs.n_features,
        policy=run.policy.name,
        top_k=run.config.top_k,
        normalization=inputs.normalization,
        about={"run": run.folder.path.name, "data": inputs.data, "cltr": version("cltr")},
        feature_names=inputs.feature_names,
        production=inputs.production,
    )


def _documents(run: RunModel) -> tuple[Documents, Floats]:
    """Raw documents to compare on, and the run's own scores of them.

    Those of the run's data set from its beginning, whole lists; if it is not there any more, those
    that the run kept.
    """
    try:
        own = Candidates.own(run)
        kept = next(Documents.of(own.features.dataset).parts(MOST_COMPARED))[1]
        production = None if own.production is None else own.production[: len(kept)]
    except CltrError:
        kept, production = run.sample.documents, run.sample.documents.production
    raw = run.inputs.normalization.undo(np.asarray(kept.features))
    seen = run.prepared(raw, kept.offsets, production=production)
    seen = Documents(seen.features, kept.rows, seen.offsets, production)
    return Documents(raw, kept.rows, kept.offsets, production), run.scores(seen)


def _difference(found: Floats, expected: Floats, lists: Lists) -> float:
    """Largest difference of scores within a list, as a share of the spread of scores.

    A constant that is added to all scores of a list changes no ranking.
    """
    gap = found - expected
    gap -= np.repeat(lists.sum(gap) / np.maximum(lists.lengths, 1), lists.lengths)
    spread = float(np.ptp(expected)) or 1.0
    return float(np.abs(gap).max(initial=0.0) / spread)


def _notes(run: RunModel) -> list[str]:
    """What scores alone do not carry over."""
    policy, estimator = run.policy.name, run.components.estimator
    notes = []
    if policy != "deterministic":
        notes.append(
            f"The run was judged with rankings drawn by the policy '{policy}'. Sorting by these "
            "scores is another policy, and the certificate does not cover it."
        )
    if isinstance(estimator, Enforced):
        notes.append(
            f"The bound of '{estimator.name}' holds for a mixture with production. These scores "
            "are of the new policy alone."
        )
    verdict = _verdict(run.folder.read_json("result.json"))
    return [*notes, *([f"The run's verdict: {verdict}"] if verdict else [])]


def _verdict(result: Mapping[str, Any]) -> str:
    advice = result.get("advice")
    return str(advice.get("sentence", "")) if isinstance(advice, Mapping) else ""
