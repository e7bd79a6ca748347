"""The click-model reward: relevance as the assumed click model sees it."""

from copy import deepcopy
from typing import Literal

from pydantic import Field

from cltr.errors import UnsupportedError
from cltr.interfaces import ClickModel, RewardFunction
from cltr.options import Options
from cltr.types import ClickData, Floats


class ClickModelReward(RewardFunction):
    r"""The relevance that makes the clicks likeliest under the assumed click model.

    What all lists share (examination, trust, ...) is learned from the training clicks; then
    :math:`\mu_d` is the likeliest relevance of each document given its own clicks, on training and
    validation lists alike, or what a regression on its features says.

    A model that was fitted before is used as it is, whatever its kind. One that
    needs the interactions themselves (cascade, dcm, ccm, dbn, sdbn, ubm) must be fitted before: a
    run has clicks and impressions by rank only.

    References: CIKM'24, section 7: PRPO over other click models.
    """

    name = "click-model"

    class Options(Options):
        """What is learned."""

        bias: Literal["fit", "given"] = Field(
            "fit",
            description="learn examination and trust from the training clicks, or take those of "
            "the click model's options.",
        )

    options: "ClickModelReward.Options"

    def fit(self, data: ClickData, click_model: ClickModel, *, seed: int = 0) -> None:
        del seed
        model = deepcopy(click_model)  # the run's own model keeps the values that it was given
        if model.fitted is None and model.needs_sessions:
            raise UnsupportedError(
                f"click model '{model.name}' is fitted to interactions, and a run has counts by "
                "rank only; assume pbm or trust-bias instead"
            )
        if model.fitted is None and self.options.bias == "fit" and can_fit(model):
            model.fit(data.statistics, data.dataset)
        self._model = model

    def mu(self, data: ClickData, *, propensity_clip: float = 0.0) -> Floats:
        del propensity_clip
        if not hasattr(self, "_model"):
            raise UnsupportedError(f"reward '{self.name}' knows no click model yet; call fit first")
        model = self._model
        if model.needs_sessions:
            return model.relevance(data.dataset)
        if type(model).infer is not ClickModel.infer:
            return model.infer(data.statistics, data.dataset)
        if model.fitted is not None:
            return model.relevance(data.dataset)
        from cltr.affinefit import infer_statistics

        return infer_statistics(data.statistics, model.affine(data.statistics.top_k))


def can_fit(model: ClickModel) -> bool:
    """Whether the model learns anything from clicks."""
    return type(model).fit is not ClickModel.fit
