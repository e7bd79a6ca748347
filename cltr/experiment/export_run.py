"""Export the learned ranker of a finished run, checked against the run's own scores."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from cltr.documents import Documents
from cltr.errors import CltrError, UsageError
from cltr.experiment.components import Components, build, compose
from cltr.experiment.config import RunConfig
from cltr.experiment.initial_model import new_model
from cltr.experiment.provenance import check_data, open_data, read_config
from cltr.experiment.run_folder import RunFolder
from cltr.extensions import Exporter, TrainedRanker
from cltr.files.storage import write_beside
from cltr.interfaces import Enforced, Model
from cltr.options import Choice
from cltr.types import Dataset, Floats, Lists

MOST_COMPARED = 20_000
"""Documents whose scores are compared; whole lists."""
TOLERANCE = 1e-4
"""Largest difference of a score, as a share of the spread of the run's scores."""


def export(
    path: Path,
    *,
    to: str,
    out: Path | None = None,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the learned ranker of a run for another system.

    Args:
        path: the run's folder.
        to: name of the exporter.
        out: the file; ``policy`` with the exporter's suffix in the run's folder by default. It
            appears only if its scores agree with those of the run.
        options: of the exporter.
    """
    exporter: Exporter = build("exporter", Choice(name=to, **(options or {})), owner=to)
    folder = RunFolder.open(path)
    config = read_config(folder)
    components = compose(config)
    folder.read_json("result.json")  # an unfinished run has nothing to export
    config, dataset = open_data(config)
    check_data(folder, config, dataset)
    if components.scorer.needs_production:
        raise UsageError(
            f"{path}: scorer '{components.scorer.name}' adds to production's scores; exporters "
            "write rankers that score by features alone"
        )
    model = new_model(components.scorer, dataset)
    folder.load_model("policy.safetensors", model)
    target = out or path / f"policy{exporter.suffix}"
    with write_beside(target) as partial:
        exporter.write(_ranker(path, config, components, model, dataset), partial)
        documents = _documents(dataset)
        found, own = exporter.scores(partial, documents), model.scores(documents)
        difference = _difference(found, own, Lists.of_offsets(documents.offsets))
        if difference > TOLERANCE:
            raise CltrError(
                f"{target}: the exported ranker gives other scores than the run: they differ by up "
                f"to {difference:.2g} of the spread of scores, and at most {TOLERANCE:g} is "
                f"accepted; nothing was written. This is a fault of the exporter '{to}'"
            )
    return {
        "run": str(path),
        "to": to,
        "out": str(target),
        "documents_compared": len(documents),
        "largest_difference": difference,
        "notes": _notes(components),
    }


def _ranker(
    path: Path, config: RunConfig, components: Components, model: Model, dataset: Dataset
) -> TrainedRanker:
    return TrainedRanker(
        scorer=components.scorer.name,
        state=model.state(),
        n_features=dataset.n_features,
        policy=components.ranker.policy.name,
        top_k=config.top_k,
        normalization=dataset.normalization,
        about={"run": path.name, "data": dataset.fingerprint, "cltr": version("cltr")},
    )


def _documents(dataset: Dataset) -> Documents:
    """Documents to compare scores on: whole lists from the beginning."""
    return next(part for _, part in Documents.of(dataset).parts(MOST_COMPARED))


def _difference(found: Floats, expected: Floats, lists: Lists) -> float:
    """Largest difference of scores within a list, as a share of the spread of scores.

    A constant that is added to all scores of a list changes no ranking.
    """
    gap = found - expected
    gap -= np.repeat(lists.sum(gap) / np.maximum(lists.lengths, 1), lists.lengths)
    spread = float(np.ptp(expected)) or 1.0
    return float(np.abs(gap).max(initial=0.0) / spread)


def _notes(components: Components) -> list[str]:
    """What scores alone do not carry over."""
    policy, estimator = components.ranker.policy.name, components.estimator
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
    return notes
