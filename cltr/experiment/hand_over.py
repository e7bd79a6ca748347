"""What a run leaves for those who use its model: inputs, rows to check by, and how to serve.

``inputs.json`` says what documents must bring. ``sample.safetensors`` has documents of some
training queries with their scores, so that a copy of the model can be checked wherever it goes.
``serving.json`` is the serving rule: what was certified is what it serves.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cltr.data.normalization import NORMALIZATIONS, Normalization
from cltr.documents import Documents
from cltr.errors import CltrError, DataError
from cltr.experiment.components import fitted_files
from cltr.experiment.experiment import Experiment
from cltr.experiment.outcome import Learned
from cltr.experiment.query_policies import RANKINGS, RULE
from cltr.experiment.run_folder import RunFolder
from cltr.experiment.serving_rules import serving_rule
from cltr.files.arrays import read_arrays, write_arrays
from cltr.interfaces import Model
from cltr.serving.rule import ServingRule
from cltr.types import Dataset, Floats

VERSION = 1
INPUTS, SAMPLE, SERVING, README = "inputs.json", "sample.safetensors", "serving.json", "README.md"
SAMPLE_DOCUMENTS = 256
"""Documents to check by; whole lists, so there may be fewer, or one longer list."""


@dataclass(frozen=True)
class Inputs:
    """What a run's model needs of documents."""

    n_features: int
    n_documents: int
    """Of the data set that it was trained on."""
    feature_names: tuple[str, ...] = ()
    """In the order of the features; empty where they have numbers only."""
    normalization: Normalization = field(default_factory=Normalization)
    """From raw features to those of the data set that it was trained on."""
    production: bool = False
    """Whether production's scores are an input."""
    matched: bool = False
    """Whether these are no scores of its own, but such as match what it showed how often."""
    own_documents: bool = False
    """Whether it knows the documents of its own data set only, as a table of scores does."""
    data: str = ""
    """Fingerprint of that data set."""

    @classmethod
    def of(
        cls, model: Model, dataset: Dataset, sample: "Sample", *, matched: bool = False
    ) -> "Inputs":
        """What a model needs, found by taking it away on a few documents."""
        documents = sample.documents
        moved = replace(documents, rows=documents.rows[::-1].copy())
        return cls(
            n_features=dataset.n_features,
            n_documents=dataset.n_documents,
            feature_names=dataset.feature_names,
            normalization=dataset.normalization or Normalization(),
            production=not _same(model, replace(documents, production=None), sample.scores),
            matched=matched,
            own_documents=not _same(model, moved, sample.scores),
            data=dataset.fingerprint,
        )

    def plain(self) -> dict[str, Any]:
        """Ready for JSON; an infinite deviation is null."""
        fitted = self.normalization
        return {
            "version": VERSION,
            "n_features": self.n_features,
            "feature_names": list(self.feature_names),
            "normalization": {
                "name": fitted.name,
                "center": fitted.center.tolist(),
                "scale": fitted.scale.tolist(),
            },
            "production_score_is_an_input": self.production,
            "production_score_matches_counts": self.matched,
            "knows_its_own_documents_only": self.own_documents,
            "n_documents": self.n_documents,
            "data": self.data,
        }

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> "Inputs":
        """What :meth:`plain` gave; KeyError, TypeError or ValueError if it is something else."""
        fitted = values["normalization"]
        center = np.array(fitted["center"], np.float64)
        scale = np.array([np.inf if one is None else one for one in fitted["scale"]], np.float64)
        names, n = tuple(map(str, values["feature_names"])), int(values["n_features"])
        if fitted["name"] not in NORMALIZATIONS:
            raise ValueError(f"no normalisation is named {fitted['name']!r}")
        if len(center) not in (0, n) or len(scale) != len(center) or len(names) not in (0, n):
            raise ValueError(
                f"{n} features have {len(names)} names, {len(center)} centres, {len(scale)} scales"
            )
        return cls(
            n_features=n,
            n_documents=int(values["n_documents"]),
            feature_names=names,
            normalization=Normalization(fitted["name"], center, scale),
            production=bool(values["production_score_is_an_input"]),
            matched=bool(values["production_score_matches_counts"]),
            own_documents=bool(values["knows_its_own_documents_only"]),
            data=str(values["data"]),
        )


@dataclass(frozen=True)
class Sample:
    """Documents of some training queries, as the model sees them, and their scores."""

    documents: Documents
    scores: Floats

    @classmethod
    def of(cls, model: Model, dataset: Dataset) -> "Sample":
        """The first training queries."""
        first, last = dataset.splits["train"]
        reach = int(dataset.offsets[first]) + SAMPLE_DOCUMENTS
        fitting = int(np.searchsorted(dataset.offsets, reach, side="right")) - 1
        last = min(max(fitting, first + 1), last)
        rows = np.arange(dataset.offsets[first], dataset.offsets[last])
        documents = Documents.choose(dataset, rows, dataset.lists.lengths[first:last])
        return cls(documents, model.scores(documents))

    def arrays(self) -> dict[str, Any]:
        """By name."""
        one = self.documents
        production = {} if one.production is None else {"production": one.production}
        found = {"features": one.features, "rows": one.rows, "offsets": one.offsets}
        return {**found, **production, "scores": self.scores}

    @classmethod
    def parse(cls, arrays: Mapping[str, Any]) -> "Sample":
        """What :meth:`arrays` gave."""
        features, rows, offsets = (arrays[name] for name in ("features", "rows", "offsets"))
        documents = Documents(features, rows, offsets, arrays.get("production"))
        return cls(documents, arrays["scores"])


def _same(model: Model, documents: Documents, scores: Floats) -> bool:
    try:
        return bool(np.array_equal(model.scores(documents), scores))
    except (CltrError, ValueError, TypeError, AttributeError, IndexError):
        return False


def hand_over(folder: RunFolder, experiment: Experiment, learned: Learned, *, share: float) -> None:
    """Write all that those who use the model need.

    Args:
        folder: of the run.
        experiment: of the run.
        learned: the model, and the policies of single queries.
        share: of the requests that should get it now, by the run's verdict.
    """
    model = learned.model
    sample = Sample.of(model, experiment.dataset)
    matched = experiment.production.scores is None
    inputs = Inputs.of(model, experiment.dataset, sample, matched=matched)
    rule = serving_rule(experiment, model, own=learned.own, share=share)
    folder.write_json(INPUTS, inputs.plain())
    with folder.writing(SAMPLE) as partial:
        write_arrays(partial, sample.arrays())
    if rule is not None:
        with folder.writing(SERVING) as partial:
            rule.save(partial)
    for path, fingerprint in fitted_files(experiment.config).items():
        folder.embed_click_model(path, fingerprint)
    folder.write_text(README, _readme(experiment, inputs, rule))


def read_inputs(folder: RunFolder) -> Inputs:
    """What the run's model needs."""
    values = folder.read_json(INPUTS)
    place = folder.path / INPUTS
    version = values.get("version") if isinstance(values, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise DataError(f"{place}: has version {version}, newer than {VERSION}; upgrade cltr")
    try:
        return Inputs.parse(values)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{place}: not a description of a model's inputs as cltr writes it ({error}); copy the "
            "run folder again, or train again"
        ) from error


def load_policy(folder: RunFolder, model: Model, dataset: Dataset) -> None:
    """The run's weights into a model for a data set, which must have the features of the run."""
    try:
        folder.load_model("policy.safetensors", model)
    except DataError as error:
        known = (folder.path / INPUTS).exists()
        n = read_inputs(folder).n_features if known else dataset.n_features
        if n == dataset.n_features:
            raise
        here = f"{dataset.n_features} feature{'s' * (dataset.n_features != 1)}"
        raise DataError(
            f"{folder.path}: the data set '{dataset.name}' has {here} and the run has {n}; give a "
            "data set with the features of the run"
        ) from error


def read_sample(folder: RunFolder) -> Sample:
    """Documents with their scores."""
    path = folder.path / SAMPLE
    try:
        return Sample.parse(read_arrays(path))
    except (FileNotFoundError, KeyError) as error:
        raise DataError(f"{path}: holds no documents to check by; train again") from error


def read_rule(folder: RunFolder) -> ServingRule:
    """The serving rule of the run."""
    if not (folder.path / SERVING).exists():
        raise DataError(
            f"{folder.path}: has no {SERVING}: its policy is neither sampled by scores "
            "(Plackett-Luce) nor sorted, so the serving rule cannot serve it"
        )
    return ServingRule.load(folder.path / SERVING)


def _readme(experiment: Experiment, inputs: Inputs, rule: ServingRule | None) -> str:
    config, components = experiment.config, experiment.components
    needs = [f"{inputs.n_features} features"]
    if inputs.feature_names:
        needs[0] += ", named in `inputs.json`"
    if inputs.normalization.name != "none":
        needs.append(f"normalised by `{inputs.normalization.name}` (`inputs.json` has the numbers)")
    if inputs.production:
        needs.append("production's score of each document")
    if inputs.own_documents:
        needs.append("documents of its own data set; it cannot score others")
    served = "No `serving.json`: the serving rule cannot serve this policy."
    if rule is not None:
        where = "each query has its share of requests that"
        where = where if rule.shares else f"{rule.share:.1%} of the requests, by the verdict,"
        how = "stored with their shares" if rule.rankings else rule.new
        served = f"`serving.json`: {where} get the new ranker; its rankings are {how}."
    name = json.dumps(components.estimator.name)
    return f"""# A run of cltr

The estimator {name} over the reward {json.dumps(components.reward.name)}, trained on
{json.dumps(config.data)} with the scorer {json.dumps(components.scorer.name)}.

The model needs {"; ".join(needs)}.

| file | what it has |
|---|---|
| `run.toml` | every choice, and versions; `cltr train --config run.toml` repeats the run |
| `policy.safetensors` | the model's weights |
| `inputs.json` | what documents must bring: features in order, normalisation, production's score |
| `sample.safetensors` | some documents with their scores, to check a copy of the model |
| `serving.json` | how requests are served: shares by query, sampled or sorted, documents shown |
| `production*.safetensors` | what is known of production on the training data |
| `click-model*.h5` | click models that were fitted to a log, if the run used any |
| `{RANKINGS}` | rankings and shares of queries that have a policy of their own, if any have |
| `{RULE}` | mean rewards by rank, by which such a policy is found for other queries |
| `history.json` | the course of training |
| `result.json` | what the policy is worth, and its certificate |
| `changes.json` | what changes for users: the queries that change most, and sums |
| `report.html` | all of it as a page to read, if it was written |

{served}

Use it: `cltr rank THIS_FOLDER --data FILE --out FILE`, or `cltr.load(THIS_FOLDER).predict(X)`.
"""
