"""A ranker for scikit-learn: ``fit`` on features and clicks, ``predict`` scores."""

import inspect
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cltr.api.click_arrays import (
    ClickCounts,
    ClickRows,
    as_column,
    as_features,
    optional_column,
)
from cltr.api.train import train
from cltr.documents import Documents, ModelSetup, State
from cltr.errors import CltrError, DataError, UsageError
from cltr.experiment.components import Components
from cltr.experiment.run_folder import RunFolder
from cltr.files.storage import make_folder
from cltr.interfaces import Model
from cltr.options import did_you_mean
from cltr.training.scorers import TableScorer
from cltr.training.torch_model import ROWS_AT_ONCE
from cltr.types import Floats, Integers


class ClickRanker:
    """Learns scores of documents from clicks, in the same way as ``cltr train --log``.

    The parameters are those of :func:`cltr.train`. None means the default of the command line.
    Parameters are checked in :meth:`fit`, and :func:`sklearn.base.clone` copies the ranker.

    Args:
        estimator: objective to maximise.
        reward: how clicks become relevance estimates.
        ranker: gradient method.
        scorer: kind of model that scores documents; it must use features.
        click_model: click model to assume or to fit.
        top_k: number of ranks that count.
        on_doubt: what to do if a health check fails. A ranker that stays with production can score
            only documents with a ``production_score``.
        options: options of components, by ``role.key``.
        seed: seed of all random choices.
        out: run folder; by default a temporary one that exists as long as this object.

    Attributes:
        run_: the :class:`cltr.Run`, with quality and risk of the new ranker.
        n_features_in_: number of features of a document.
    """

    def __init__(
        self,
        *,
        estimator: Any = None,
        reward: Any = None,
        ranker: Any = None,
        scorer: Any = None,
        click_model: Any = None,
        top_k: int | None = None,
        on_doubt: str | None = None,
        options: Mapping[str, Any] | None = None,
        seed: int | None = None,
        out: Any = None,
    ) -> None:
        self.estimator = estimator
        self.reward = reward
        self.ranker = ranker
        self.scorer = scorer
        self.click_model = click_model
        self.top_k = top_k
        self.on_doubt = on_doubt
        self.options = options
        self.seed = seed
        self.out = out

    def fit(
        self,
        X: Any,  # scikit-learn's name
        clicks: Any,
        *,
        qid: Any,
        position: Any = None,
        session: Any = None,
        document: Any = None,
        impressions: Any = None,
        production_score: Any = None,
    ) -> Self:
        """Learn from clicks in one of two forms.

        *Rows*: one row for each document that was shown. ``clicks`` has 0 or 1 for each row,
        ``position`` the rank from 1, and ``session`` says which rows were shown together.

        *Counts*: one row for each document of a query. ``clicks`` and ``impressions`` have one
        column for each rank. They say how often the document was clicked and shown there.

        Args:
            X: features, ``[rows, features]``.
            clicks: ``[rows]``, or ``[rows, ranks]`` with ``impressions``.
            qid: query of each row.
            position: rank of each row, from 1.
            session: interaction of each row; not needed if every query came once.
            document: document id of each row. By default, rows of one query with equal features
                are the same document. All rows of a document must have the same features.
            impressions: impressions by rank, ``[rows, ranks]``.
            production_score: production's score of each row. Without it, cltr counts production's
                exposure in the log.
        """
        features = as_features(X)
        n = len(features)
        query = as_column("qid", qid, n)
        scores = (
            None if production_score is None else as_column("production_score", production_score, n)
        )
        names = None if document is None else as_column("document", document, n)
        form: ClickRows | ClickCounts
        if impressions is not None:
            if position is not None or session is not None:
                raise UsageError("counts by rank have no position and no session; leave them out")
            form = ClickCounts(features, query, clicks, impressions, names, scores)
        elif position is None:
            raise UsageError(
                "fit needs either position, if each row is an impression, or impressions, if rows "
                "hold counts by rank"
            )
        else:
            form = ClickRows(features, query, clicks, position, session, names, scores)
        self._train(form)
        self.n_features_in_ = features.shape[1]
        return self

    def _train(self, form: ClickRows | ClickCounts) -> None:
        chosen = {key: value for key, value in self.get_params().items() if key != "out"}
        if chosen["scorer"] == TableScorer.name:
            raise UsageError(
                "the scorer 'table' has a score for each known document, and no use "
                "for features; choose another scorer"
            )
        path = self._new_folder() if self.out is None else Path(self.out)
        dataset = form.dataset
        make_folder(path)
        kept = path / "log.h5"
        try:
            log = form.log(kept)
            self.run_ = train(data=dataset, log=log, out=path, progress=False, **chosen)
        except CltrError:
            kept.unlink(missing_ok=True)
            raise
        self._setup = ModelSetup(dataset.n_features, dataset.n_documents)
        self._build()

    def _build(self, state: State | None = None) -> None:
        """The trained model, from the run folder or from its state."""
        self._model: Model = Components(self.run_.config).scorer.build(self._setup, seed=0)
        if state is None:
            RunFolder.open(self.run_.path).load_model("policy.safetensors", self._model)
        else:
            self._model.load_state(state)

    def __getstate__(self) -> dict[str, Any]:
        """The model's state in place of the model, which may not be copied as it is."""
        state = dict(vars(self))
        if "_model" in state:
            state["_model"] = dict(self._model.state())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Build the model again."""
        vars(self).update(state)
        if "_model" in state:
            self._build(state["_model"])

    def _new_folder(self) -> Path:
        """A temporary folder, which is removed together with this object."""
        folder = tempfile.mkdtemp(prefix="cltr-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder) / "run"

    def predict(self, X: Any, *, qid: Any = None, production_score: Any = None) -> Floats:
        """Return the learned scores of documents; a higher score comes first.

        The run itself may serve a mixture with production, for example with the estimator
        ``band``.

        Args:
            X: features, ``[rows, features]``.
            qid: query of each row, for scorers that look at whole lists. Rows of a query must be
                next to each other. Without it, each row is a list of its own.
            production_score: production's scores, for scorers that add to them.
        """
        if not hasattr(self, "run_"):
            raise CltrError("this ClickRanker is not fitted yet; call fit first")
        features = as_features(X)
        n = len(features)
        if features.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {features.shape[1]} features; the ranker was fitted on "
                f"{self.n_features_in_}"
            )
        given = optional_column("production_score", production_score, n)
        production = None if given is None else given.astype(np.float64)
        offsets = np.arange(n + 1) if qid is None else _offsets(as_column("qid", qid, n))
        documents = Documents(features, np.arange(n), offsets, production)
        scores = np.empty(n)
        for rows, part in documents.parts(ROWS_AT_ONCE):
            scores[rows] = self._model.scores(part)
        return scores

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor, as they were given."""
        del deep
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change parameters for the next :meth:`fit`."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise UsageError(
                    f"ClickRanker has no parameter '{name}'; it has: {', '.join(known)}"
                    + did_you_mean(name, known)
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = {name: value for name, value in self.get_params().items() if value is not None}
        return f"ClickRanker({', '.join(f'{name}={value!r}' for name, value in given.items())})"


def _offsets(qid: NDArray[Any]) -> Integers:
    """Where lists begin; a query whose rows are apart would be scored as two lists."""
    begins = np.flatnonzero(np.concatenate([[True], qid[1:] != qid[:-1]]))
    if len(np.unique(qid)) < len(begins):
        raise DataError("rows of a query must be side by side; sort X by qid")
    return np.append(begins, len(qid))
