"""The serving rule: scores and a request id in, a ranking and its log record out."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from cltr.errors import DataError
from cltr.serving.draws import check_scores, coin, sample_ranking, sort_ranking
from cltr.serving.interleaving import Arm, interleave

VERSION = 1
"""Of the rule's file and of the log record."""
Order = Literal["sampled", "sorted"]


@dataclass(frozen=True)
class StoredRanking:
    """A ranking that a share of a query's requests gets."""

    share: float
    documents: tuple[str, ...]


@dataclass(frozen=True)
class Served:
    """What a request gets, and why."""

    request: str
    query: str
    arm: Arm | Literal["interleaved"]
    share: float
    """Share of requests of this query that get the new ranker."""
    shown: tuple[str, ...]
    teams: tuple[Arm, ...] = ()
    """With interleaving: which ranker picked each place."""
    orders: tuple[str, str] = ("sampled", "sorted")
    """How the new ranker and production rank: ``sampled``, ``sorted`` or ``stored``."""
    rankings: tuple[StoredRanking, ...] = ()
    """Of the query, where the new ranker has stored ones."""

    def record(
        self,
        new: Mapping[str, float],
        production: Mapping[str, float],
        *,
        time: str = "",
        context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The line to log, as JSON. The next log's exposure is computed from it exactly.

        Args:
            new: the new ranker's scores of all candidates.
            production: production's scores of the same documents.
            time: of the request, in ISO 8601.
            context: anything else to keep, such as a device or an outcome.
        """
        documents = list(production)
        stored = {"rankings": [asdict(one) for one in self.rankings]} if self.rankings else {}
        return {
            "cltr": VERSION,
            "request": self.request,
            "query": self.query,
            "time": time,
            "arm": self.arm,
            "share": self.share,
            "orders": list(self.orders),
            "shown": list(self.shown),
            "teams": list(self.teams),
            "documents": documents,
            "new": [new[one] for one in documents],
            "production": [production[one] for one in documents],
            **stored,
            "context": dict(context or {}),
        }


@dataclass(frozen=True)
class ServingRule:
    """How requests are served.

    Attributes:
        share: share of requests that get the new ranker; the rest gets production.
        new: whether the new ranker's rankings are sampled or sorted by score.
        production: the same for production.
        top_k: documents shown; None shows all.
        shares: by query, where it differs from ``share``.
        rankings: stored rankings of the new ranker by query; they stand in place of its scores.
    """

    share: float = 1.0
    new: Order = "sampled"
    production: Order = "sorted"
    top_k: int | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    rankings: Mapping[str, tuple[StoredRanking, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse shares that are none, and orders that there are not."""
        for what, share in [("share", self.share), *self.shares.items()]:
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
                raise DataError(f"serving rule: share {share!r} of '{what}' must lie in [0, 1]")
        for order in (self.new, self.production):
            if order not in get_args(Order):
                raise DataError(f"serving rule: rankings are sampled or sorted, not {order!r}")
        if self.top_k is not None and (type(self.top_k) is not int or self.top_k < 1):
            raise DataError(f"serving rule: top_k is {self.top_k!r}; expected 1 or more, or null")
        for query, stored in self.rankings.items():
            total = sum(one.share for one in stored)
            if not abs(total - 1) <= 1e-9:
                raise DataError(
                    f"serving rule: shares of the rankings of '{query}' add up to {total}, not 1"
                )

    def share_of(self, query: str) -> float:
        """Share of a query's requests that get the new ranker."""
        return self.shares.get(query, self.share)

    def serve(
        self,
        request: str,
        query: str,
        *,
        new: Mapping[str, float],
        production: Mapping[str, float],
    ) -> Served:
        """The ranking of a request.

        Args:
            request: an id that no other request has; it decides every random choice.
            query: its id.
            new: the new ranker's scores by document id.
            production: production's scores of the same documents.
        """
        _check_candidates(new, production, query)
        share = self.share_of(query)
        if coin(request) < share:
            arm: Arm = "new"
            shown = self._new_ranking(request, query, new)
        else:
            arm = "production"
            shown = self._rank(self.production, production, request)
        return self._served(request, query, arm, share, shown)

    def _served(
        self,
        request: str,
        query: str,
        arm: Arm | Literal["interleaved"],
        share: float,
        shown: tuple[str, ...],
        teams: tuple[Arm, ...] = (),
    ) -> Served:
        stored = tuple(self.rankings.get(query, ()))
        orders = "stored" if stored else self.new, self.production
        return Served(request, query, arm, share, shown, teams, orders, stored)

    def interleave(
        self,
        request: str,
        query: str,
        *,
        new: Mapping[str, float],
        production: Mapping[str, float],
    ) -> Served:
        """Both rankers in one ranking, by team draft; the parameters are those of :meth:`serve`."""
        _check_candidates(new, production, query)
        mixed = interleave(
            self._new_ranking(request, query, new),
            self._rank(self.production, production, request),
            request,
            top_k=self.top_k or len(production),
        )
        return self._served(request, query, "interleaved", 0.5, mixed.shown, mixed.teams)

    def _rank(self, order: Order, scores: Mapping[str, float], request: str) -> tuple[str, ...]:
        if order == "sampled":
            return sample_ranking(scores, request, top_k=self.top_k)
        return sort_ranking(scores, top_k=self.top_k)

    def _new_ranking(
        self, request: str, query: str, scores: Mapping[str, float]
    ) -> tuple[str, ...]:
        stored = self.rankings.get(query)
        if not stored:
            return self._rank(self.new, scores, request)
        drawn, total = coin(request, use="ranking"), 0.0
        chosen = stored[-1]
        for one in stored:
            total += one.share
            if drawn < total:
                chosen = one
                break
        still_there = [one for one in chosen.documents if one in scores]
        others = [one for one in sort_ranking(scores) if one not in set(still_there)]
        return tuple([*still_there, *others][: self.top_k])

    def save(self, path: str | Path) -> None:
        """Write the rule as JSON."""
        Path(path).write_text(json.dumps({"version": VERSION, **asdict(self)}, indent=1))

    @classmethod
    def load(cls, path: str | Path) -> "ServingRule":
        """Read a rule; one clear line if the file is no rule."""
        try:
            values = json.loads(Path(path).read_text(encoding="utf-8"))
            if values.pop("version") != VERSION:
                raise DataError(f"{path}: a serving rule of another version than {VERSION}")
            rankings = {
                query: tuple(
                    StoredRanking(float(one["share"]), tuple(map(str, one["documents"])))
                    for one in stored
                )
                for query, stored in values.pop("rankings", {}).items()
            }
            return cls(rankings=rankings, **values)
        except OSError as error:
            raise DataError(f"{path}: cannot read the serving rule: {error.strerror}") from error
        except RecursionError as error:
            raise DataError(f"{path}: not a serving rule: values are nested too deep") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f"{path}: not a serving rule: {error}") from error


def _check_candidates(
    new: Mapping[str, float], production: Mapping[str, float], query: str
) -> None:
    for one in new.keys() ^ production.keys():
        who = "production" if one in new else "the new ranker"
        raise DataError(f"query '{query}': {who} has no score of document '{one}'")
    check_scores(new)
    check_scores(production)
