"""How the interactions of a log are split into training, validation and test."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from cltr.errors import UsageError
from cltr.files.portable_split import BUCKETS, digest_sql
from cltr.files.table_files import quoted

FILE_PART = "part of the file"
"""Column of ``raw``: the part of the log that a file is for, where files are given by part."""
PART: Literal["part"] = "part"
"""Column of a table that says which part of the log a row is for, as in an exported log."""
By: TypeAlias = Literal["interaction", "user", "time", "files", "part"]
"""What is split; or what says the parts: files that are given by part, or the column ``part``."""
_CHOICES = tuple(by for by in get_args(By) if by != "files")
USUAL_SHARE = 0.2
USUAL_TEST_SHARE = 0.1
DRAWN = '"digest of the row"'


@dataclass(frozen=True)
class Split:
    """How interactions are split into the parts of a log."""

    share: float = USUAL_SHARE
    """Of the interactions that are for validation."""
    by: By = "interaction"
    seed: int = 1
    test_share: float | None = None
    """Of the interactions that are for testing; None is :attr:`tested`'s own choice."""
    valid_from: str = ""
    """The first time of validation; by :attr:`share` if empty."""
    test_from: str = ""
    """The first time of test; there is no test part if this is empty and ``valid_from`` is not."""

    def __post_init__(self) -> None:
        """Refuse shares that leave nothing, and words that mean nothing."""
        if self.by not in get_args(By):
            raise UsageError(f"--split-by {self.by}: expected {', '.join(_CHOICES)}")
        for flag, share in (("--valid-share", self.share), ("--test-share", self.test_share or 0)):
            if not 0 <= share < 1:
                raise UsageError(f"{flag} {share:g}: expected a share between 0 and 1")
        if self.seed < 0:
            raise UsageError(f"--seed {self.seed}: expected a whole number of at least 0")
        named = "--valid-from" if self.valid_from else "--test-from"
        if (self.valid_from or self.test_from) and self.by != "time":
            raise UsageError(f"{named} needs --split-by time")
        if self.test_from and not self.valid_from:
            raise UsageError("--test-from: say where validation begins too, with --valid-from")
        if self.by == PART and (self.share != USUAL_SHARE or self.test_share):
            flag = "--test-share" if self.test_share else "--valid-share"
            raise UsageError(
                f"{flag}: with --split-by part, the column '{PART}' decides; leave it out"
            )
        if self.test_share and self.share + self.test_share >= 1:
            raise UsageError(
                f"--valid-share {self.share:g} and --test-share {self.test_share:g} leave no "
                "interactions for training; make one of them smaller"
            )

    @property
    def tested(self) -> float:
        """Share for testing: a tenth by default, less where validation takes over 80%.

        Example:
            >>> Split().tested, Split(share=0.9).tested, Split(test_share=0.3).tested
            (0.1, 0.05, 0.3)
        """
        if self.by == PART:
            return 0.0
        if self.test_share is not None or self.valid_from:
            return self.test_share or 0.0
        return min(USUAL_TEST_SHARE, round((1 - self.share) / 2, 12))

    def column(self, columns: Mapping[str, str]) -> str:
        """SQL of each row's part of the log: 0 training, 1 validation, 2 test.

        The same seed gives the same parts. The validation interactions do not depend on the share
        that is for testing, unless they are split by time.
        """
        if self.by == "files":
            return quoted(FILE_PART)
        if self.by == PART:
            return f"CASE {quoted(PART)} WHEN 'valid' THEN 1 WHEN 'test' THEN 2 ELSE 0 END"
        drawn = self._drawn(columns)
        if FILE_PART not in columns:
            return drawn
        return f"CASE {quoted(FILE_PART)} WHEN 2 THEN 2 ELSE {drawn} END"

    def _drawn(self, columns: Mapping[str, str]) -> str:
        if not self.drawn_by(columns):
            return "0"  # decided later, by time or one by one
        valid, test = (
            f"'{round(s * BUCKETS):08x}'" for s in (self.share, self.share + self.tested)
        )
        return f"CASE WHEN {DRAWN} < {valid} THEN 1 WHEN {DRAWN} < {test} THEN 2 ELSE 0 END"

    def drawn_by(self, columns: Mapping[str, str]) -> str:
        """The column whose ids are split by their md5; empty if none is."""
        for name in ("user", "time"):
            if self.by == name and name not in columns:
                raise UsageError(
                    f"--split-by {name} needs to know {name}s; name them with --{name}-column"
                )
        whose = {"interaction": "session", "user": "user"}.get(self.by, "")
        return whose if whose in columns else ""

    def drawn(self, columns: Mapping[str, str], *, more: str = "") -> str:
        """SQL of ``raw`` with the digest that decides the part of a row, if one does.

        Digits of md5 compare as the shares of :mod:`cltr.files.portable_split` do.

        Args:
            columns: of ``raw``.
            more: SQL of other columns, each behind a comma.
        """
        whose = self.drawn_by(columns)
        if not whose:
            return "raw"
        digest = digest_sql(quoted(whose), seed=self.seed)
        return f"(SELECT *{more}, {digest} AS {DRAWN} FROM raw)"
