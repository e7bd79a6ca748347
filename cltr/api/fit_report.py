"""The result of fitting click models."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cltr.api.shown import Shown
from cltr.clicks.model_file import load_click_model
from cltr.errors import UnknownNameError
from cltr.interfaces import ClickModel
from cltr.options import did_you_mean
from cltr.report.fit_tables import fit_tables
from cltr.report.rendering import Tables

COLUMNS = ("name", "log_likelihood", "perplexity", "conditional_perplexity", "converged", "affine")


class FittedModel:
    """A fitted click model. ``cltr.train(click_model=...)`` takes it.

    Args:
        report: the object of this model in ``cltr fit --json``.
    """

    def __init__(self, report: Mapping[str, Any]) -> None:
        self.report = report
        self.name: str = report["name"]
        self.path = Path(report["file"])

    @property
    def examination(self) -> list[float] | None:
        """Probability that users examine each rank; None if the model has none."""
        found = self.report["examination"]
        return None if found is None else list(found)

    @property
    def converged(self) -> bool:
        """True if the fit converged."""
        return bool(self.report["converged"])

    def load(self) -> ClickModel:
        """Return the click model itself."""
        return load_click_model(self.path)

    def __repr__(self) -> str:
        return f"FittedModel('{self.name}', path='{self.path}')"


class FitReport(Shown):
    """Fitted click models, from best to worst on held-out clicks, and which one to use.

    Args:
        report: the result as ``cltr fit --json`` prints it.
        data: the data set of the log, as the user named it.
    """

    def __init__(self, report: Mapping[str, Any], *, data: str | None = None) -> None:
        self.report = report
        self._data = data

    @property
    def path(self) -> Path:
        """The folder, or the file, with the models."""
        return Path(self.report["out"])

    @property
    def models(self) -> list[FittedModel]:
        """Fitted models, from best to worst on held-out clicks."""
        return [FittedModel(one) for one in self.report["models"]]

    def __getitem__(self, name: str) -> FittedModel:
        found = {model.name: model for model in self.models}
        if name not in found:
            raise UnknownNameError(
                f"no click model '{name}' was fitted; there are: {', '.join(found)}"
                + did_you_mean(name, found)
            )
        return found[name]

    @property
    def recommended(self) -> FittedModel | None:
        """The model to use; None if no model converged that has examination by rank."""
        name = self.report["recommended"]
        return None if name is None else self[name]

    @property
    def recommended_affine(self) -> FittedModel | None:
        """The model to use with the rewards ips and dr, which need an affine model."""
        name = self.report["recommended_affine"]
        return None if name is None else self[name]

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return [{key: one[key] for key in COLUMNS} for one in self.report["models"]]

    def _tables(self, width: int) -> Tables:
        return fit_tables(self.report, data=self._data, width=width)
