"""The contracts around a run: metrics, exporters, data layouts, questions to a log, commands.

The contracts of the parts of a run (rewards, estimators and so on) are in ``cltr.interfaces``. Both
work in the same way: subclass, give the class a ``name``, and return it from a hook
(``cltr.hookspecs``).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from cltr.documents import Documents, State
from cltr.errors import DataError
from cltr.interfaces import Component
from cltr.types import Floats

if TYPE_CHECKING:
    import click

    from cltr.checks import Evidence, Finding
    from cltr.data.normalization import Normalization
    from cltr.policies.on_dataset import AppliedPolicy

SplitFiles: TypeAlias = Mapping[str, Sequence[Path]]
"""Files by split: ``train``, and ``valid`` and ``test`` where there are any."""


class Metric(Component, ABC):
    """Computes one number for each query from judgements, in expectation under a policy."""

    @abstractmethod
    def values(self, policy: "AppliedPolicy", *, top_k: int) -> Floats | None:
        r"""Return the metric of every query, ``[queries]``; None if the policy cannot tell.

        cltr reports the mean over judged queries as ``NAME@K``. For a mixture of two policies it
        mixes the values of both.

        Args:
            policy: a policy on a data set. ``policy.dataset`` has ``labels`` (NaN without a
                judgement), ``lists`` and ``highest_grade``. ``policy.weights(rank_weights)`` is
                :math:`\omega` for any weights of ranks, ``[docs]``.
                ``policy.first_weights(chosen, rank_weights)`` is the expected weight of the first
                of the chosen documents, ``[queries]`` or None.
            top_k: number of ranks that count.
        """


@dataclass(frozen=True)
class TrainedRanker:
    """The learned ranker of a run, as exporters get it."""

    scorer: str
    """Name of the scorer."""
    state: State
    """The model's arrays by name: all that its scores depend on."""
    n_features: int
    policy: str
    """How the run makes rankings from scores; ``plackett-luce`` draws them, for example."""
    top_k: int
    normalization: "Normalization | None" = None
    """How the run normalised raw features before training."""
    about: Mapping[str, str] = field(default_factory=dict)
    """The run, data and versions that made it."""
    feature_names: tuple[str, ...] = ()
    """Names in the order of the features; empty if features have numbers only."""
    production: bool = False
    """True if production's score of a document is an input."""


class Exporter(Component, ABC):
    """Writes a learned ranker in a format that another system reads."""

    suffix: ClassVar[str]
    """Ending of its files, such as ``.json``."""

    @abstractmethod
    def write(self, ranker: TrainedRanker, path: Path) -> None:
        """Write one file; raise ``UnsupportedError`` if the format cannot express the ranker."""

    @abstractmethod
    def scores(self, path: Path, documents: Documents) -> Floats:
        """Return the scores that the written file gives to documents, ``[docs]``.

        ``cltr export`` compares them with the scores of the run and keeps the file only if they
        agree. Features are raw, so the file must contain the normalisation of the run; if it
        cannot, :meth:`write` must refuse. Read the file as its users would, and use nothing else.
        """


class DataLayout(Component, ABC):
    """Finds the files of a published data set in its folder, and checks what they contain."""

    title: ClassVar[str]
    """Name of the data set in messages."""
    n_features: ClassVar[tuple[int, ...]] = ()
    """Allowed numbers of features; any number if empty."""
    n_queries: ClassVar[tuple[int, ...]] = ()
    """Allowed numbers of queries in all splits together; any number if empty."""
    highest_grade: ClassVar[float]
    """The highest grade that judges could give."""
    huge_is_missing: ClassVar[bool] = False
    """True if values that are too large for 32 bits mean missing values."""

    @abstractmethod
    def find(self, folder: Path, *, fold: int | None) -> tuple[SplitFiles, list[str]] | None:
        """Return the SVMlight files by split; None if the folder does not have this layout.

        Args:
            folder: the folder that the user gave.
            fold: number of the fold; None lets the layout choose.

        Returns:
            The files, and sentences that tell the user what the layout decided.
        """

    def check(self, *, n_features: int, highest_grade: float, n_queries: int) -> None:
        """Raise a one-line error if the data are not those of this data set."""
        for what, found, expected in (
            ("features", n_features, self.n_features),
            ("queries", n_queries, self.n_queries),
        ):
            if expected and found not in expected:
                numbers = " or ".join(str(number) for number in expected)
                raise DataError(
                    f"{self.title} has {numbers} {what}, but {found} were found; "
                    "check the files, or import them without a preset"
                )
        if highest_grade > self.highest_grade:
            raise DataError(
                f"{self.title} has grades 0 to {self.highest_grade:g}, but {highest_grade:g} was "
                "found; check the files, or import them without a preset"
            )


class LogQuestion(Component, ABC):
    """A question that ``cltr check`` asks about every log."""

    @abstractmethod
    def ask(self, evidence: "Evidence") -> Iterable["Finding"]:
        """Yield findings: each with its number, why it matters and what to do."""


class Command(Component, ABC):
    """A command of its own: ``cltr NAME``."""

    @abstractmethod
    def build(self) -> "click.Command":
        """Return the click command; its short help is the first line of its docstring."""
