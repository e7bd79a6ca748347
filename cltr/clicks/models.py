"""Click models that the core cannot be without: trust bias, position bias, and their reversal."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cltr.clicks.fit_tools import FitOptions, Parameters
from cltr.errors import OptionError, UnsupportedError
from cltr.interfaces import ClickModel, Fittable
from cltr.options import Options
from cltr.types import Affine, Booleans, ClickStatistics, Dataset, Floats


class AffineModel(Fittable):
    r"""Base of models with :math:`P(C=1|d,k) = \alpha_k R_d + \beta_k`.

    Fitted by EM on clicks and impressions by rank (:mod:`cltr.clicks.affine_fit`); examination and
    trust are then those of the fit.
    """

    options: Any

    def given(self, top_k: int) -> Affine:
        """Examination and trust of the options, for as many ranks as there are, up to top_k."""
        raise UnsupportedError(f"{type(self).__name__} must define values for {top_k} ranks")

    def start(self, top_k: int) -> Affine:
        """Where a fit starts; trust that is 0 stays 0."""
        raise UnsupportedError(f"{type(self).__name__} cannot be fitted over {top_k} ranks")

    def affine(self, top_k: int) -> Affine:
        found = self.given(top_k)
        advice = "give -o click-model.examination=... for all of them, or use a smaller --top-k"
        if self.fitted is not None:
            found = Affine(self.fitted.shared["examination"], self.fitted.shared["trust"])
            advice = "fit it on longer lists, or use a smaller --top-k"
        known = len(found.examination)
        if top_k > known:
            raise OptionError(
                f"click model '{self.name}' has values for {known} ranks, but {top_k} are needed; "
                f"{advice}"
            )
        return Affine(found.examination[:top_k], found.trust[:top_k])

    def fit(self, counts: ClickStatistics, dataset: Dataset | None = None) -> Parameters:
        from cltr.clicks.affine_fit import compared_impressions, fit_cells
        from cltr.clicks.counts import CellCounts
        from cltr.clicks.fit_error import fit_covariance

        cells = CellCounts.of_statistics(counts)
        found = fit_cells(cells, self.start(counts.top_k), self.options, dataset)
        affine = Affine(found.shared["examination"], found.shared["trust"])
        self.fitted = replace(
            found,
            compared=compared_impressions(cells, affine),
            covariance=fit_covariance(counts, affine, found.documents["relevance"]),
        )
        return self.fitted

    def infer(self, counts: ClickStatistics, dataset: Dataset | None = None) -> Floats:
        """As in the contract; a model that was not fitted uses the values of its options."""
        from cltr.clicks.affine_fit import infer_statistics

        if self.fitted is not None and self.fitted.networks:
            return self.relevance(dataset)
        return infer_statistics(counts, self.affine(counts.top_k), self.options, self.fitted)

    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        del context
        examination, trust = self.affine(relevance.shape[-1])
        return np.nan_to_num(examination * relevance + trust) * ~np.isnan(relevance)


class TrustBias(AffineModel):
    r"""Users look at high ranks more, and trust them: they click there on irrelevant documents too.

    .. math:: P(C=1 | d, k) = \alpha_k R_d + \beta_k

    The defaults are the paper's five ranks.

    References: Agarwal et al. (WWW'19); Oosterhuis (TOIS'23), Eq. 1-4; CIKM'24, Eq. 4.
    """

    name = "trust-bias"

    class Options(FitOptions):
        """Values by rank; more than five ranks need values."""

        examination: tuple[float, ...] = Field(
            (0.35, 0.53, 0.55, 0.54, 0.52),
            description="alpha: what relevance adds to the click probability, for each rank.",
        )
        trust: tuple[float, ...] = Field(
            (0.65, 0.26, 0.15, 0.11, 0.08),
            description="beta: click probability of an irrelevant document, for each rank.",
        )

        @model_validator(mode="after")
        def _probabilities(self) -> Self:
            if len(self.examination) != len(self.trust):
                raise ValueError("examination and trust need the same number of ranks")
            for alpha, beta in zip(self.examination, self.trust, strict=True):
                if not (0 <= alpha <= 1 and 0 <= beta <= 1 and alpha + beta <= 1 + 1e-9):
                    raise ValueError("examination, trust and their sum must lie in [0, 1]")
            return self

    options: "TrustBias.Options"

    def given(self, top_k: int) -> Affine:
        del top_k
        return Affine(np.array(self.options.examination), np.array(self.options.trust))

    def start(self, top_k: int) -> Affine:
        falling = 1.0 / np.arange(3, top_k + 3)
        return Affine(falling, falling)


class PositionBased(AffineModel):
    r"""Users look at high ranks more, and click what they see if it is relevant.

    .. math:: P(C=1 | d, k) = \theta_k R_d

    References: Craswell et al. (WSDM'08); Joachims et al. (WSDM'17).
    """

    name = "pbm"

    class Options(FitOptions):
        """A power law, or values by rank."""

        eta: float = Field(
            1.0,
            ge=0,
            allow_inf_nan=False,
            description=(
                "exponent of examination (1/k)**eta at rank k; larger is more position "
                "bias, 0 is none."
            ),
        )
        examination: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
            (), description="examination of each rank, in [0, 1], instead of eta."
        )

    options: "PositionBased.Options"

    def given(self, top_k: int) -> Affine:
        values = np.array(self.options.examination)
        if not len(values):
            values = (1.0 / np.arange(1, top_k + 1)) ** self.options.eta
        return Affine(values, np.zeros(len(values)))

    def start(self, top_k: int) -> Affine:
        return Affine(0.9 / np.arange(1, top_k + 1), np.zeros(top_k))  # EM never leaves 1


class Adversarial(ClickModel):
    """Users click exactly when users of another click model would not.

    References: CIKM'24, section 6, "maximally adversarial" users.
    """

    name = "adversarial"

    class Options(Options):
        """Whom it reverses."""

        of: str = Field("", description="click model to reverse; that of --click-model if empty.")

    options: "Adversarial.Options"

    def __init__(self, model: ClickModel | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.model = model or TrustBias()

    @property
    def independent(self) -> bool:
        return self.model.independent

    def draw_context(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        return self.model.draw_context(n, rng)

    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        return (1.0 - self.model.probabilities(relevance, context)) * ~np.isnan(relevance)

    def sample(
        self, relevance: Floats, context: Mapping[str, NDArray[Any]], rng: np.random.Generator
    ) -> Booleans:
        return ~self.model.sample(relevance, context, rng) & ~np.isnan(relevance)

    def affine(self, top_k: int) -> Affine | None:
        reversed_affine = self.model.affine(top_k)
        if reversed_affine is None:
            return None
        return Affine(-reversed_affine.examination, 1.0 - reversed_affine.trust)
