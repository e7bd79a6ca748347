"""The layouts of well-known data sets; ``cltr data import --preset NAME`` finds and checks one."""

from pathlib import Path
from typing import ClassVar

from cltr.data.layouts import find_in_folder
from cltr.extensions import DataLayout, SplitFiles


class KnownLayout(DataLayout):
    """A data set in one of the layouts that are found without a preset, perhaps in a subfolder."""

    folders: ClassVar[tuple[str, ...]] = ("",)
    """Where in the folder the layout may begin."""
    prefix: ClassVar[str] = ""
    """Of the file names, where a folder holds several sets."""

    def find(self, folder: Path, *, fold: int | None) -> tuple[SplitFiles, list[str]] | None:
        for start in self.folders:
            found = find_in_folder(folder / start, fold=fold, prefix=self.prefix)
            if found:
                return found
        return None


class Mslr10k(KnownLayout):
    """MSLR-WEB10K."""

    name, title = "mslr10k", "MSLR-WEB10K"
    n_features, n_queries, highest_grade = (136,), (10_000,), 4
    folders = ("", "MSLR-WEB10K")


class Mslr30k(KnownLayout):
    """MSLR-WEB30K."""

    name, title = "mslr30k", "MSLR-WEB30K"
    n_features, n_queries, highest_grade = (136,), (31_531,), 4
    folders = ("", "MSLR-WEB30K")


class Yahoo(KnownLayout):
    """Set 1 of the Yahoo learning to rank challenge."""

    name, title = "yahoo", "Yahoo set 1"
    n_features, n_queries, highest_grade = (699, 700), (29_921,), 4
    folders, prefix = ("", "set1"), "set1"


class Istella(KnownLayout):
    """Istella; values that are too large for 32 bits count as missing."""

    name, title = "istella", "Istella"
    n_features, n_queries, highest_grade = (220,), (33_018,), 4
    folders, huge_is_missing = ("", "full"), True


class IstellaS(Istella):
    """Istella-S, with a sample of the documents."""

    name, title = "istella-s", "Istella-S"
    folders = ("", "sample")


class Letor4(KnownLayout):
    """MQ2007 or MQ2008 of LETOR 4.0."""

    name, title = "letor4", "LETOR 4.0"
    n_features, n_queries, highest_grade = (46,), (1_692, 784), 2
    folders = ("", "MQ2007", "MQ2008")
