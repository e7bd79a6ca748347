"""What flows between the stages, each type named by what has been added to it. All are frozen.

Arrays are flat: the last axis runs over all documents of all queries, and ``offsets`` says where
each query's list begins. Nothing is padded until it reaches a ranker.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError

if TYPE_CHECKING:
    from cltr.data.normalization import Normalization

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]

SPLITS = ("train", "valid", "test")
LOGGED_SPLITS = ("train", "valid")
"""Parts of a log that training uses: to fit, and to choose the epoch."""
LOG_PARTS = ("train", "valid", "test")
"""All parts of a log. Not every log has a test part, and no step of training uses its clicks."""

LARGEST_IN_32_BITS = 2**15 - 1
"""Counts up to here are kept in 32 bits: half the memory, and the product of any two still fits."""
DOCUMENTS_AT_ONCE = 65_536
"""Documents whose features are looked at together: bounds memory, whatever the data set's size."""


class Lists(NamedTuple):
    """Start and length of each query's documents in a flat (or raveled padded) array.

    Example:
        >>> Lists.of_offsets(np.array([0, 2, 5])).lengths
        array([2, 3])
        >>> Lists.of_mask(np.array([[True, True, False], [True, True, True]])).starts
        array([0, 3])
        >>> Lists.of_mask(np.array([[True, True, False], [True, True, True]])).members
        array([0, 1, 3, 4, 5])
    """

    starts: Integers
    lengths: Integers

    @classmethod
    def of_offsets(cls, offsets: Integers) -> "Lists":
        """Make lists that follow each other without gaps."""
        return cls(offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64))

    @classmethod
    def of_mask(cls, mask: Booleans) -> "Lists":
        """Rows of a padded array, ``mask`` True for real documents, padding at the end."""
        rows, width = mask.shape
        return cls(np.arange(rows, dtype=np.int64) * width, mask.sum(-1).astype(np.int64))

    @property
    def owners(self) -> Integers:
        """List of each real document, list by list."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def places(self) -> Integers:
        """Place of each real document in its own list, from 0, list by list."""
        firsts = np.cumsum(self.lengths) - self.lengths
        return np.arange(int(self.lengths.sum())) - np.repeat(firsts, self.lengths)

    @property
    def members(self) -> Integers:
        """Index of each real document in the flat (raveled) array, list by list."""
        return np.repeat(self.starts, self.lengths) + self.places

    def sum(self, values: Floats) -> Floats:
        """Return the sum of each list, ``[queries]``.

        Example:
            >>> Lists.of_offsets(np.array([0, 2, 2, 3])).sum(np.array([1.0, 2.0, 3.0]))
            array([3., 0., 3.])
        """
        sums = np.bincount(self.owners, values, minlength=len(self.lengths))
        return sums.astype(np.float64, copy=False)  # integers where there is no document at all


@dataclass(frozen=True)
class Dataset:
    """A data set: one list of documents with features for each query, and grades if there are any.

    A query has judgements of all its documents or of none. Labels without a judgement are NaN.
    """

    features: NDArray[np.float32]
    """``[docs, features]``"""
    labels: Floats
    """Grades, ``[docs]``; NaN for the documents of a query without judgements."""
    offsets: Integers
    """``[queries + 1]``: the documents of query q are ``offsets[q]:offsets[q + 1]``."""
    query_ids: NDArray[Any]
    document_ids: NDArray[Any]
    splits: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Query ranges by name: ``{"train": (first, last + 1), ...}``."""
    highest_grade: float = 4.0
    name: str = ""
    fingerprint: str = ""
    """Hash of the content, quoted in results."""
    normalization: "Normalization | None" = None
    """How the features were made from raw ones; for raw features that are to be scored later."""
    feature_names: tuple[str, ...] = ()
    """In the order of the features; empty where features have numbers only, as in SVMlight."""
    first_document: int = 0
    """Row of its first document in the whole data set, for scorers with a number per document."""
    production: Floats | None = None
    """Scores of the production ranker, ``[docs]``, where they are known."""

    @property
    def n_queries(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_documents(self) -> int:
        return int(self.offsets[-1] - self.offsets[0])

    @property
    def n_features(self) -> int:
        return int(self.features.shape[1])

    @cached_property
    def lists(self) -> Lists:
        return Lists.of_offsets(self.offsets)

    @cached_property
    def judged_queries(self) -> Booleans:
        """True for queries with judgements, ``[queries]``."""
        return np.asarray(self.lists.sum(np.isnan(self.labels).astype(np.float64)) == 0)

    @property
    def judged(self) -> bool:
        """True if any query has judgements. A log with its own documents has none."""
        return bool(self.judged_queries.any())

    @property
    def shared(self) -> bool:
        """True if queries are not split. Then every split has all queries."""
        return self.n_queries > 0 and self.splits.get("valid") == (0, self.n_queries)

    @property
    def relevance(self) -> Floats:
        """P(R=1) = grade / highest grade, ``[docs]`` (the paper's 0.25 * rel)."""
        return self.labels / max(self.highest_grade, 1.0)

    @cached_property
    def unusable_feature(self) -> tuple[int, int] | None:
        """Return row and column of the first NaN or infinite feature; None if there is none."""
        for start in range(0, self.n_documents, DOCUMENTS_AT_ONCE):
            finite = np.isfinite(self.features[start : start + DOCUMENTS_AT_ONCE])
            if not finite.all():
                row, column = np.argwhere(~finite)[0]
                return start + int(row), int(column)
        return None

    def part(self, split: str) -> "Dataset":
        """Return one split as a data set, without copying."""
        if split not in self.splits:
            raise DataError(
                f"{self.name or 'data set'}: no split '{split}'; it has {', '.join(self.splits)}"
            )
        return self.queries(*self.splits[split])

    def queries(self, first: int, last: int) -> "Dataset":
        """Return queries ``first`` to ``last - 1`` as a data set, without copying."""
        start, stop = int(self.offsets[first]), int(self.offsets[last])
        return replace(
            self,
            features=self.features[start:stop],
            labels=self.labels[start:stop],
            offsets=self.offsets[first : last + 1] - start,
            query_ids=self.query_ids[first:last],
            document_ids=self.document_ids[start:stop],
            splits={},
            first_document=self.first_document + start,
            production=None if self.production is None else self.production[start:stop],
        )

    def documents_of(self, split: str) -> slice:
        """Return the rows of a split's documents in the whole data set."""
        first, last = self.splits[split]
        return slice(int(self.offsets[first]), int(self.offsets[last]))


@dataclass(frozen=True)
class ClickLog:
    """Interactions, one row each. A chunk of a log is also a log."""

    queries: Integers
    """Index of the query, ``[interactions]``."""
    documents: Integers
    """Shown documents in order, as flat indices, ``[interactions, K]``; -1 where the list ended."""
    clicks: Booleans
    """``[interactions, K]``"""
    context: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Columns such as device, time or user, ``[interactions]`` each."""
    lists: Dataset | None = None
    """Whose documents were shown, where the log says so."""

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def top_k(self) -> int:
        return int(self.documents.shape[1])

    def shown(self, values: Floats) -> Floats:
        """Return values of the shown documents, ``[interactions, K]``; NaN past a list's end."""
        return np.where(self.documents >= 0, values[self.documents], np.nan)


@dataclass(frozen=True)
class ClickStatistics:
    """Impressions and clicks per document and rank. The size does not depend on N.

    Statistics of the same lists can be added with ``+``, for example of several days or machines.
    Impressions and clicks are int32 where all are at most ``LARGEST_IN_32_BITS``, and int64 where
    one is larger. ``sum`` and ``cumsum`` of numpy give int64. Before a matrix product of counts
    with counts, convert them: numpy would compute it in 32 bits.
    """

    impressions: Integers
    """n(d, k), ``[docs, K]``."""
    clicks: Integers
    """c(d, k), ``[docs, K]``."""
    displays: Integers
    """N_q, interactions per query, ``[queries]``."""
    offsets: Integers
    """``[queries + 1]``"""

    def __post_init__(self) -> None:
        """Keep counts in as few bits as they need."""
        for name in ("impressions", "clicks"):
            object.__setattr__(self, name, compact(getattr(self, name)))

    @classmethod
    def count(cls, chunk: ClickLog, offsets: Integers) -> "ClickStatistics":
        """Count one chunk of a log. Statistics of several chunks can be added.

        Args:
            chunk: interactions.
            offsets: where each query's documents lie, ``[queries + 1]``.
        """
        n_documents, top_k = int(offsets[-1]), chunk.top_k
        shown = chunk.documents >= 0
        keys = chunk.documents * top_k + np.arange(top_k)

        def table(which: Booleans) -> Integers:
            flat = np.bincount(keys[which], minlength=n_documents * top_k)
            return flat.reshape(n_documents, top_k)

        return cls(
            impressions=table(shown),
            clicks=table(shown & chunk.clicks),
            displays=np.bincount(chunk.queries, minlength=len(offsets) - 1).astype(np.int64),
            offsets=offsets,
        )

    @classmethod
    def from_log(cls, log: ClickLog, dataset: Dataset | None = None) -> "ClickStatistics":
        """Count interactions in memory.

        Args:
            log: interactions.
            dataset: whose lists; those of the log by default.
        """
        lists = dataset or log.lists
        if lists is None:
            raise DataError("the log does not say whose documents it shows; give the data set")
        return cls.count(log, lists.offsets)

    def __add__(self, other: "ClickStatistics") -> "ClickStatistics":
        if self.impressions.shape != other.impressions.shape or not np.array_equal(
            self.offsets, other.offsets
        ):
            raise DataError(
                "statistics of different lists cannot be added: shapes "
                f"{self.impressions.shape} and {other.impressions.shape}"
            )
        return replace(
            self,
            impressions=self.impressions + other.impressions,
            clicks=self.clicks + other.clicks,
            displays=self.displays + other.displays,
        )

    def of_queries(self, chosen: Booleans) -> "ClickStatistics":
        """Return the counts of some queries, ``[queries]``; all others are set to 0."""
        documents = np.repeat(chosen, np.diff(self.offsets))[:, None]
        return replace(
            self,
            impressions=self.impressions * documents,
            clicks=self.clicks * documents,
            displays=self.displays * chosen,
        )

    @property
    def n_interactions(self) -> int:
        return int(self.displays.sum())

    @property
    def top_k(self) -> int:
        return int(self.impressions.shape[1])

    @cached_property
    def query_weights(self) -> Floats:
        """N_q / N, ``[queries]``; all 0 when nothing was logged."""
        return self.displays / max(self.n_interactions, 1)

    @property
    def displays_per_document(self) -> Integers:
        """N_q of each document's query, ``[docs]``."""
        return np.repeat(self.displays, np.diff(self.offsets))

    @property
    def click_rate(self) -> Floats:
        """Clicks per display of the query, whether the document was shown or not, ``[docs]``."""
        return _per_display(self.clicks.sum(-1), self.displays_per_document)

    def average(self, rank_values: Floats) -> Floats:
        """Mean over the query's displays of a value of the shown rank (0 when not shown).

        With the click model's examination it is the paper's alpha-bar, with its trust beta-bar.
        """
        return _per_display(self.impressions @ rank_values, self.displays_per_document)


def compact(counts: NDArray[Any]) -> Integers:
    """Whole numbers in 32 bits if all of them are small, else in 64; fractions as they are.

    Example:
        >>> compact(np.array([0, 32767])).dtype, compact(np.array([0, 32768], np.int32)).dtype
        (dtype('int32'), dtype('int64'))
    """
    if not np.issubdtype(counts.dtype, np.integer):
        return counts
    largest = max(int(counts.max(initial=0)), -int(counts.min(initial=0)))
    kind = np.int32 if largest <= LARGEST_IN_32_BITS else np.int64
    return counts.astype(kind, copy=False)


def _per_display(totals: NDArray[Any], displays: Integers) -> Floats:
    means: Floats = np.divide(totals, displays, out=np.zeros(len(displays)), where=displays > 0)
    return means


@dataclass(frozen=True)
class Exposure:
    """Exposure of each document under the logging policy, and how it is known."""

    weights: Floats
    r"""Expected metric weight :math:`\omega_0`, ``[docs]``."""
    propensities: Floats
    r"""Expected examination :math:`\rho_0 = E[\alpha_k]`, ``[docs]``."""
    attention: Floats
    r""":math:`E[\alpha_k + \beta_k]`, the most clicks a document can get, ``[docs]``."""
    source: str = "exact"
    """``exact`` (from the logging policy's scores) or ``counted`` (from the log)."""

    def inverse_propensities(self, examined: Floats, *, propensity_clip: float = 0.0) -> Floats:
        r""":math:`1 / \max(\rho_0, \tau)`, ``[docs]``; 0 for a document that cannot be examined.

        Args:
            examined: what the log says was examined, :math:`\bar\alpha`, ``[docs]``. A document
                with :math:`\rho_0 = 0` must have none of it, or the exposure is not of this log.
            propensity_clip: :math:`\tau`; 0 does not clip.

        Example:
            >>> exposure = Exposure(*3 * [np.array([0.5, 0.1, 0.0])])
            >>> exposure.inverse_propensities(np.array([0.4, 0.2, 0.0]))
            array([ 2., 10.,  0.])
            >>> exposure.inverse_propensities(np.zeros(3), propensity_clip=0.25)
            array([2., 4., 4.])
        """
        propensities = np.maximum(self.propensities, propensity_clip)
        possible = propensities > 0
        contradicted = int((~possible & (examined != 0)).sum())
        if contradicted:
            raise DataError(
                f"{contradicted} documents were shown that production never shows by its "
                f"{self.source} exposure, so it is not the exposure of this log; use --exposure "
                "counted"
            )
        return np.divide(1.0, propensities, out=np.zeros(len(possible)), where=possible)


@dataclass(frozen=True)
class ClickData:
    """What a reward gets for one split: lists, clicks and exposure."""

    dataset: Dataset
    statistics: ClickStatistics
    exposure: Exposure
    sessions: Callable[[], Iterable[ClickLog]] | None = None
    """Reads the interactions, chunk by chunk, where the log keeps them."""


@dataclass(frozen=True)
class Rewards:
    r"""One split, ready for training: a relevance estimate :math:`\mu(d)` for every document."""

    dataset: Dataset
    values: Floats
    r""":math:`\mu`, ``[docs]``."""
    exposure: Exposure
    query_weights: Floats
    """P(q), ``[queries]``: how often each query came."""
    source: str = ""
    """Who made the estimates."""
    statistics: ClickStatistics | None = None
    """The clicks that they come from; None for true labels."""
    split: str = "train"
    """On whose lists they lie."""

    @property
    def n_interactions(self) -> int:
        """Of the clicks that they come from; 0 for true labels."""
        return 0 if self.statistics is None else self.statistics.n_interactions

    @property
    def n_queries(self) -> int:
        """Queries that came."""
        return int(np.count_nonzero(self.query_weights))

    def of_queries(self, chosen: Booleans) -> "Rewards":
        """The same lists, with the clicks of some queries only, ``[queries]``."""
        if self.statistics is None:
            raise DataError("true labels have no clicks to choose from")
        statistics = self.statistics.of_queries(chosen)
        return replace(self, statistics=statistics, query_weights=statistics.query_weights)


class Affine(NamedTuple):
    r"""Clicks affine in relevance: :math:`P(C=1 | d, k) = \alpha_k R_d + \beta_k`, ``[K]`` each."""

    examination: Floats
    trust: Floats
