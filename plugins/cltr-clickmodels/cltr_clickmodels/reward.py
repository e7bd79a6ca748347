"""The click-model reward: relevance as the assumed click model sees it."""

from copy import deepcopy
from typing import Any, Literal

from pydantic import Field

from cltr.clicks.fit_tools import add_up
from cltr.errors import DataError, UnsupportedError
from cltr.interfaces import ClickModel, Fittable, RewardFunction
from cltr.options import Options
from cltr.types import ClickData, Floats


class ClickModelReward(RewardFunction):
    r"""The relevance that makes the clicks most likely under the click model.

    Values that all lists share (examination, trust, ...) are learned from the training clicks. Then
    :math:`\mu_d` is the most likely relevance of each document given its own clicks, on training
    and on validation lists, or the prediction of a regression on its features.

    A model that was fitted before (``fitted:FILE``) keeps its shared values. A model that needs
    single interactions (cascade, dcm, ccm, dbn, sdbn, ubm) reads them from the log of the run.
    Without them it must have been fitted before, and knows the documents of that fit by id.

    References: CIKM'24, section 7: PRPO over other click models.
    """

    name = "click-model"
    assumes = frozenset()  # it learns the bias from the clicks themselves

    class Options(Options):
        """Options of the fit."""

        bias: Literal["fit", "given"] = Field(
            "fit",
            description="learn examination and trust from the training clicks, or take those of "
            "the click model's options.",
        )

    options: "ClickModelReward.Options"

    def fit(self, data: ClickData, click_model: ClickModel, *, seed: int = 0) -> None:
        del seed
        model = deepcopy(click_model)  # the run's own model keeps the values that it was given
        if isinstance(model, Fittable) and model.fitted is None:
            if model.needs_sessions:
                model.fit(_count(model, data), data.dataset)
            elif self.options.bias == "fit":
                model.fit(data.statistics, data.dataset)
        self._model = model

    def mu(self, data: ClickData, *, propensity_clip: float = 0.0) -> Floats:
        del propensity_clip
        if not hasattr(self, "_model"):
            raise UnsupportedError(f"reward '{self.name}' knows no click model yet; call fit first")
        if isinstance(self._model, Fittable):
            return _relevance(self._model, data)
        from cltr.clicks.affine_fit import infer_statistics

        affine = self._model.require_affine(data.statistics.top_k)
        return infer_statistics(data.statistics, affine)


def _relevance(model: Fittable, data: ClickData) -> Floats:
    """From the clicks of the run, if the model can; else as it was fitted."""
    found = None
    if not model.needs_sessions:
        found = model.infer(data.statistics, data.dataset)
    elif data.sessions is not None:
        found = model.infer(_count(model, data), data.dataset)
    return _known_relevance(model, data) if found is None else found


def _count(model: Fittable, data: ClickData) -> Any:
    """What the model needs of the interactions, where there are any."""
    if data.sessions is None:
        raise UnsupportedError(
            f"click model '{model.name}' is fitted to interactions, and the run has counts by rank "
            "only; keep them with cltr simulate --sessions or cltr ingest --sessions and give "
            "--log, or fit it before with cltr fit and use --click-model fitted:FILE"
        )
    return add_up(model.count(chunk, data.dataset.offsets) for chunk in data.sessions())


def _known_relevance(model: Fittable, data: ClickData) -> Floats:
    """Relevance by id, if there is any: were all documents new, all would look alike."""
    values = model.relevance(data.dataset)
    assert model.fitted is not None
    if not model.fitted.networks and len(values) > 1 and (values == values[0]).all():
        raise DataError(
            f"click model '{model.name}' was fitted to other documents than those of the run; "
            "train with a log that has --sessions, or fit with relevance=regression"
        )
    return values
