"""The model of a finished run, ready to score documents from anywhere."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cltr.documents import Documents, ModelSetup
from cltr.errors import CltrError, DataError, UsageError
from cltr.experiment.components import Components
from cltr.experiment.config import RunConfig
from cltr.experiment.hand_over import (
    INPUTS,
    Inputs,
    Sample,
    read_inputs,
    read_rule,
    read_sample,
)
from cltr.experiment.library_setup import set_up_libraries
from cltr.experiment.provenance import check_data, open_data, read_config
from cltr.experiment.run_folder import RunFolder
from cltr.interfaces import Estimator, EstimatorContext, Model, Policy
from cltr.policies.rank_weights import rank_weights
from cltr.serving.rule import ServingRule
from cltr.types import Dataset, Floats, Integers

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class RunModel:
    """A run's model with what it needs."""

    folder: RunFolder
    config: RunConfig
    components: Components
    inputs: Inputs
    model: Model

    @classmethod
    def open(cls, path: Path) -> "RunModel":
        """The model of a finished run.

        A run of version 0.1 does not say what its model needs. It is found from the run's data
        set, if that can still be opened.
        """
        set_up_libraries()
        folder = RunFolder.open(path)
        folder.read_json("result.json")  # the run is finished
        config = read_config(folder)
        components = Components(config)
        if (path / INPUTS).exists():
            inputs = read_inputs(folder)
            model = components.scorer.build(
                ModelSetup(inputs.n_features, inputs.n_documents), seed=0
            )
            folder.load_model("policy.safetensors", model)
            return cls(folder, config, components, inputs, model)
        dataset = _old_data(folder, config)
        setup = ModelSetup(dataset.n_features, dataset.n_documents)
        model = components.scorer.build(setup, seed=0)
        folder.load_model("policy.safetensors", model)
        inputs = Inputs.of(model, dataset, Sample.of(model, dataset))
        return cls(folder, config, components, inputs, model)

    @property
    def policy(self) -> Policy:
        """How rankings come from its scores."""
        return self.components.ranker.policy

    @cached_property
    def estimator(self) -> Estimator:
        """The estimator, prepared as in the run."""
        config, click_model = self.config, self.components.click_model
        told = self.folder.read_json("result.json")
        self.components.estimator.prepare(
            EstimatorContext(
                told["n_interactions"],
                rank_weights(config.metric, config.top_k, click_model),
                config.metric,
                click_model,
                told.get("n_queries", 0),
                told.get("plan") == "narrow",
            )
        )
        return self.components.estimator

    @cached_property
    def rule(self) -> ServingRule:
        """How requests are served."""
        return read_rule(self.folder)

    @cached_property
    def sample(self) -> Sample:
        """Documents of the run's data set, and their scores."""
        if (self.folder.path / INPUTS).exists():
            return read_sample(self.folder)
        return Sample.of(self.model, _old_data(self.folder, self.config))

    def prepared(
        self,
        features: Matrix,
        offsets: Integers,
        *,
        production: Floats | None = None,
        normalized: bool = False,
        first_row: int = 0,
    ) -> Documents:
        """Documents of whole lists as the model sees them.

        Args:
            features: raw, in the order of the inputs, ``[docs, features]``.
            offsets: where each list begins, and the end, ``[lists + 1]``.
            production: production's scores, ``[docs]``.
            normalized: whether the features are normalised already, as in training.
            first_row: of the documents in the run's data set, for a model of its own documents.
        """
        if self.inputs.production and production is None:
            raise UsageError(
                f"{self.folder.path}: production's scores are an input of the model; give a table "
                "of query, document and score (--production)"
            )
        if not normalized:
            features = self.inputs.normalization.apply(features, offsets)
        rows = np.arange(len(features)) + first_row
        return Documents(features, rows, np.asarray(offsets, np.int64), production)

    def scores(self, documents: Documents) -> Floats:
        """Finite scores of the documents, ``[docs]``."""
        scores = self.model.scores(documents)
        if not np.isfinite(scores).all():
            raise DataError(f"{self.folder.path}: the model gives scores that are not finite")
        return scores

    def is_normalized(self, dataset: Dataset) -> bool:
        """Whether a data set has the run's normalisation; else it is raw, or refused."""
        given, own = dataset.normalization, self.inputs.normalization
        if given is None or given.name == "none":
            return own.name == "none"
        same = given.name == own.name and all(
            np.array_equal(getattr(given, part), getattr(own, part)) for part in ("center", "scale")
        )
        if not same:
            raise DataError(
                f"{dataset.name}: features are normalised by '{given.name}' in another way than "
                f"those that the run was trained on ('{own.name}'); import it again with "
                "--normalize none"
            )
        return True


def _old_data(folder: RunFolder, config: RunConfig) -> Dataset:
    try:
        config, dataset = open_data(config)
        check_data(folder, config, dataset)
    except CltrError as error:
        raise CltrError(
            f"{folder.path}: the run has no {INPUTS}, as those of version 0.1, so its data set is "
            f"needed to know its features: {error}"
        ) from error
    return dataset
