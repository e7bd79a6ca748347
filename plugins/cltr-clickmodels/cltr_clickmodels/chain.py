r"""Users who read down the list: what cascade, DCM, SDBN, DBN and CCM share.

A user reads the first document. On a document that she reads she clicks with its attraction
:math:`a`; then she goes on with probability :math:`t` after a click and :math:`g` after none.
Given the clicks above, :math:`e_r = P(E_r = 1 | C_{<r})` follows from rank to rank:

.. math:: e_1 = 1, \qquad e_{r+1} = t_r \text{ after a click}, \qquad
          e_{r+1} = \frac{g\, e_r (1 - a_r)}{1 - e_r a_r} \text{ after none}

and :math:`P(C_r = 1 | C_{<r}) = e_r a_r`. Not knowing the clicks,
:math:`e_{r+1} = e_r\,(a_r t_r + (1 - a_r) g)`. The models differ in t and g:

========  ==============================  ==============
model     t, after a click                g, after none
========  ==============================  ==============
cascade   0                               1
DCM       :math:`\lambda_r`, by rank      1
SDBN      :math:`1 - \sigma_d`            1
DBN       :math:`\gamma(1 - \sigma_d)`    :math:`\gamma`
CCM       :math:`\tau_2(1-a) + \tau_3 a`  :math:`\tau_1`
========  ==============================  ==============
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cltr.clicks.fit_tools import Parameters
from cltr.clicks.relevance import RelevanceModel
from cltr.errors import OptionError
from cltr.interfaces import Fittable
from cltr.types import Booleans, ClickLog, Dataset, Floats, Integers

if TYPE_CHECKING:
    from cltr_clickmodels.chainfit import Evidence
    from cltr_clickmodels.counts import ChainCounts

Values = Mapping[str, Floats]
"""Parameters by name."""


class ChainModel(Fittable):
    """Base class of models in which users read down the list."""

    tables: ClassVar[tuple[str, ...]] = ("attraction",)
    """Names of the numbers that each document has."""
    by_rank: ClassVar[bool] = False
    """Whether going on after a click depends on the rank, not on the document."""

    needs_sessions = True

    options: Any

    @property
    def closed_form(self) -> bool:
        """True if a fit treats the last click as the end of reading, and needs no EM."""
        return False

    @abstractmethod
    def after_click(self, documents: Values, shared: Values) -> Floats:
        """Return the probability t of continuing after a click, shaped like document values."""

    def after_skip(self, shared: Values) -> float:
        """Return the probability g of continuing without a click."""
        del shared
        return 1.0

    def given(self, top_k: int) -> Values:
        """Return the values that all lists share, from the options."""
        del top_k
        return {}

    def simulated(self, relevance: Floats) -> Values:
        """Return the values of documents for simulated users, from P(R=1)."""
        return {"attraction": relevance}

    @abstractmethod
    def maximise(
        self,
        evidence: "Evidence",
        documents: Values,
        shared: Values,
        by: Mapping[str, RelevanceModel],
    ) -> tuple[Values, Values]:
        """Make the M-step: compute document values and shared values from expected counts."""

    def document_relevance(self, tables: Mapping[str, Floats]) -> Floats:
        return tables["attraction"]

    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        del context
        return self._marginal(self.simulated(relevance))

    def conditional_probabilities(
        self, relevance: Floats, clicks: Booleans, context: Mapping[str, NDArray[Any]]
    ) -> Floats:
        del context
        return self._given_clicks(self.simulated(relevance), clicks)

    def sample(
        self, relevance: Floats, context: Mapping[str, NDArray[Any]], rng: np.random.Generator
    ) -> Booleans:
        del context
        attraction, after_click, after_skip = self._behaviour(self.simulated(relevance))
        attracted = rng.random(attraction.shape) < attraction
        stays = rng.random(attraction.shape) < np.where(attracted, after_click, after_skip)
        clicks: Booleans = attracted & _from_first(np.logical_and.accumulate(stays, axis=1), True)
        return clicks

    def predict(self, chunk: ClickLog) -> Floats:
        return self._marginal(self._shown(chunk))

    def predict_given_clicks(self, chunk: ClickLog) -> Floats:
        return self._given_clicks(self._shown(chunk), chunk.clicks)

    def count(self, chunk: ClickLog, offsets: Integers) -> "ChainCounts":
        from cltr_clickmodels.counts import count_chain

        return count_chain(chunk, offsets, tails=not self.closed_form)

    def fit(self, counts: "ChainCounts", dataset: Dataset | None = None) -> Parameters:
        from cltr_clickmodels.chainfit import fit_chain

        self.fitted = fit_chain(self, counts, dataset)
        return self.fitted

    def infer(self, counts: "ChainCounts", dataset: Dataset | None = None) -> Floats:
        from cltr_clickmodels.chainfit import infer_chain

        if self.fitted is not None and self.fitted.networks:
            return self.relevance(dataset)
        return self.document_relevance(infer_chain(self, counts))

    def shared_values(self, top_k: int) -> Values:
        """Return the values that all lists share: fitted, or else from the options."""
        if self.fitted is None:
            return self.given(top_k)
        if not self.by_rank:
            return self.fitted.shared
        known = min(map(len, self.fitted.shared.values()))
        if top_k > known:
            raise OptionError(
                f"click model '{self.name}' was fitted on {known} ranks, but {top_k} are needed; "
                "fit it on longer lists, or use a smaller --top-k"
            )
        return {name: values[:top_k] for name, values in self.fitted.shared.items()}

    def _shown(self, chunk: ClickLog) -> Values:
        """The fitted numbers of the documents shown; NaN where there is none."""
        self.relevance()  # one clear error if there was no fit
        assert self.fitted is not None
        shown = chunk.documents >= 0
        return {
            name: np.where(shown, values[chunk.documents], np.nan)
            for name, values in self.fitted.documents.items()
        }

    def _behaviour(self, documents: Values) -> tuple[Floats, Floats, float]:
        """Attraction, t and g on shown lists; nobody is attracted where nothing is."""
        documents = {name: np.nan_to_num(values) for name, values in documents.items()}
        attraction = documents["attraction"]
        shared = self.shared_values(attraction.shape[-1])
        return attraction, self.after_click(documents, shared), self.after_skip(shared)

    def _marginal(self, documents: Values) -> Floats:
        attraction, after_click, after_skip = self._behaviour(documents)
        stay = attraction * after_click + (1 - attraction) * after_skip
        expected: Floats = attraction * _from_first(np.multiply.accumulate(stay, axis=1), 1.0)
        return expected

    def _given_clicks(self, documents: Values, clicks: Booleans) -> Floats:
        attraction, after_click, after_skip = self._behaviour(documents)
        after_click = np.broadcast_to(after_click, attraction.shape)
        expected = np.empty(attraction.shape)
        examined = np.ones(len(attraction))
        for rank in range(attraction.shape[1]):
            attracted = attraction[:, rank]
            expected[:, rank] = examined * attracted
            left = 1.0 - expected[:, rank]
            kept = np.divide(
                examined * (1.0 - attracted), left, out=np.zeros(len(left)), where=left > 0
            )
            examined = np.where(clicks[:, rank], after_click[:, rank], after_skip * kept)
        return expected


def _from_first(values: NDArray[Any], first: Any) -> NDArray[Any]:
    """Shift one rank down; the first rank gets ``first``."""
    start = np.full((len(values), 1), first, dtype=values.dtype)
    return np.concatenate([start, values[:, :-1]], axis=1)
