"""Click models that the core cannot be without: trust bias, position bias, and their reversal."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cltr.errors import OptionError, UnsupportedError
from cltr.interfaces import ClickModel
from cltr.options import Options
from cltr.types import Affine, Booleans, Floats


class AffineModel(ClickModel):
    r"""Base of models with :math:`P(C=1|d,k) = \alpha_k R_d + \beta_k`."""

    def affine(self, top_k: int) -> Affine:
        raise UnsupportedError(f"{type(self).__name__} must define affine for {top_k} ranks")

    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        del context
        examination, trust = self.affine(relevance.shape[-1])
        return np.nan_to_num(examination * relevance + trust) * ~np.isnan(relevance)


class TrustBias(AffineModel):
    r"""Users examine by rank, and trust what stands high even if it is irrelevant.

    .. math:: P(C=1 | d, k) = \alpha_k R_d + \beta_k

    The defaults are the paper's five ranks.

    References: Agarwal et al. (WWW'19); Oosterhuis (TOIS'23), Eq. 1-4; CIKM'24, Eq. 4.
    """

    name = "trust-bias"

    class Options(Options):
        """Values by rank; more than five ranks need values."""

        examination: tuple[float, ...] = Field(
            (0.35, 0.53, 0.55, 0.54, 0.52),
            description="alpha: what relevance adds to the click probability, by rank.",
        )
        trust: tuple[float, ...] = Field(
            (0.65, 0.26, 0.15, 0.11, 0.08),
            description="beta: click probability of an irrelevant document, by rank.",
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

    def affine(self, top_k: int) -> Affine:
        examination, trust = self.options.examination, self.options.trust
        if top_k > len(examination):
            raise OptionError(
                f"click model '{self.name}' has values for {len(examination)} ranks, but "
                f"{top_k} are needed; give -o click-model.examination=... and trust, "
                "or use a smaller --top-k"
            )
        return Affine(np.array(examination[:top_k]), np.array(trust[:top_k]))


class PositionBased(AffineModel):
    r"""Users examine by rank, and click what is relevant.

    .. math:: P(C=1 | d, k) = \theta_k R_d

    References: Craswell et al. (WSDM'08); Joachims et al. (WSDM'17).
    """

    name = "pbm"

    class Options(Options):
        """A power law, or values by rank."""

        eta: float = Field(
            1.0,
            ge=0,
            allow_inf_nan=False,
            description="examination (1/k)**eta: larger is more bias, 0 is none.",
        )
        examination: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
            (), description="theta by rank, in [0, 1], instead of the power law."
        )

    options: "PositionBased.Options"

    def affine(self, top_k: int) -> Affine:
        given = self.options.examination
        if given and top_k > len(given):
            raise OptionError(
                f"click model '{self.name}' has values for {len(given)} ranks, but {top_k} are "
                "needed; give more, or use a smaller --top-k"
            )
        power_law = (1.0 / np.arange(1, top_k + 1)) ** self.options.eta
        examination = np.array(given[:top_k]) if given else power_law
        return Affine(examination, np.zeros(top_k))


class Adversarial(ClickModel):
    """Users who click exactly when users of another model would not.

    References: CIKM'24, section 6, "maximally adversarial" users.
    """

    name = "adversarial"

    class Options(Options):
        """Whom it reverses."""

        of: str = Field("", description="name of the model to reverse; the assumed one if empty.")

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

    def affine(self, top_k: int) -> Affine:
        examination, trust = self.model.affine(top_k)
        return Affine(-examination, 1.0 - trust)
