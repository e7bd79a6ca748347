"""The contracts around a run: metrics, exporters, data layouts, questions to a log, commands.

What a run itself is composed of (rewards, estimators and so on) has its contracts in
``cltr.interfaces``. These are found in the same way: subclass, give it a ``name``, return the class
from a hook (``cltr.hookspecs``).
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
    """A number for each query, from judgements, in expectation under a policy."""

    @abstractmethod
    def values(self, policy: "AppliedPolicy", *, top_k: int) -> Floats | None:
        r"""The metric of every query, ``[queries]``; None if the policy does not know enough.

        The mean over judged queries is reported as ``NAME@K``. Of a mixture of policies it is the
        mixture of what this method gives for each.

        Args:
            policy: ``policy.dataset`` has ``labels`` (NaN where there is no judgement), ``lists``
                and ``highest_grade``; ``policy.weights(rank_weights)`` gives :math:`\omega` for
                any weights of ranks, ``[docs]``; ``policy.first_weights(chosen, rank_weights)``
                the expected weight of the first of some documents, ``[queries]`` or None.
            top_k: the cut.
        """


@dataclass(frozen=True)
class TrainedRanker:
    """What is known of a run's learned ranker, for other systems."""

    scorer: str
    """Name of the scorer."""
    state: State
    """The model's arrays by name: all that its scores depend on."""
    n_features: int
    policy: str
    """How rankings come from scores in the run: ``plackett-luce`` draws them, for example."""
    top_k: int
    normalization: "Normalization | None" = None
    """How the features that the model was trained on came from raw ones."""
    about: Mapping[str, str] = field(default_factory=dict)
    """Run, data and versions that it comes from."""
    feature_names: tuple[str, ...] = ()
    """In the order of the features; empty where they have numbers only."""
    production: bool = False
    """Whether production's score of a document is an input."""


class Exporter(Component, ABC):
    """Writes a learned ranker in a format that another system reads."""

    suffix: ClassVar[str]
    """How its files end, such as ``.json``."""

    @abstractmethod
    def write(self, ranker: TrainedRanker, path: Path) -> None:
        """Write one file; ``UnsupportedError`` in one line for a ranker that it cannot express."""

    @abstractmethod
    def scores(self, path: Path, documents: Documents) -> Floats:
        """Scores that the written file gives to documents, ``[docs]``.

        ``cltr export`` compares them with the run's own, and keeps the file only if they agree.
        Features are raw: the file must normalise them as the run does, or be refused by
        :meth:`write`.
        Read the file as its users would: compute nothing from what :meth:`write` was given.
        """


class DataLayout(Component, ABC):
    """How a published data set lies in its folder, and what it must look like."""

    title: ClassVar[str]
    """The data set's own name, for messages."""
    n_features: ClassVar[tuple[int, ...]] = ()
    """How many features there are, one of these; any number if empty."""
    n_queries: ClassVar[tuple[int, ...]] = ()
    """How many queries there are in all splits together, one of these; any number if empty."""
    highest_grade: ClassVar[float]
    """The best grade that judges could give."""
    huge_is_missing: ClassVar[bool] = False
    """Whether values too large for 32 bits stand for missing ones."""

    @abstractmethod
    def find(self, folder: Path, *, fold: int | None) -> tuple[SplitFiles, list[str]] | None:
        """The SVMlight files of a folder by split; None if the folder does not have this layout.

        Args:
            folder: as the user gave it.
            fold: which fold to take; None lets the layout choose, and say so.

        Returns:
            The files, and what was decided on the way, in words.
        """

    def check(self, *, n_features: int, highest_grade: float, n_queries: int) -> None:
        """Refuse, in one line, data that are not this data set."""
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
        """What was found, if anything: each finding has its number, why it matters, what to do."""


class Command(Component, ABC):
    """A command of the command line: ``cltr NAME``."""

    @abstractmethod
    def build(self) -> "click.Command":
        """The command with its parameters; its short help is the first line of its docstring."""
