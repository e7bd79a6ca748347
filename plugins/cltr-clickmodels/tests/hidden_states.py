"""Every way an interaction can go, read or not, satisfied or not, by enumeration."""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from cltr.clicks.fit_tools import Convergence, Parameters
from cltr.types import ClickLog
from cltr_clickmodels.cascade import Cascade
from cltr_clickmodels.ccm import CCM
from cltr_clickmodels.dbn import DBN
from cltr_clickmodels.dcm import DCM
from cltr_clickmodels.sdbn import SDBN

CHAIN = {
    "cascade": Cascade,
    "dcm": lambda: DCM(method="em"),
    "ccm": CCM,
    "dbn": DBN,
    "sdbn": lambda: SDBN(method="em"),
}
SHARED = {"cascade": 0, "dcm": "K", "ccm": 3, "dbn": 1, "sdbn": 0}
"""How many numbers all lists share."""


@dataclass(frozen=True)
class Users:
    """A model of readers with all of its numbers."""

    name: str
    attraction: np.ndarray
    satisfaction: np.ndarray
    continuation: np.ndarray

    @classmethod
    def draw(cls, name, rng, top_k=4):
        n = top_k if SHARED[name] == "K" else SHARED[name]
        return cls(name, *(rng.uniform(0.05, 0.95, size=m) for m in (top_k, top_k, n)))

    @property
    def top_k(self):
        return len(self.attraction)

    def model(self):
        """The same as a fitted click model over the documents 0, 1, ... of one query."""
        model = CHAIN[self.name]()
        tables = {name: getattr(self, name) for name in model.tables}
        shared = {"continuation": self.continuation} if len(self.continuation) else {}
        done, prior = Convergence(np.empty(0), True), dict.fromkeys(tables, 0.5)
        model.fitted = Parameters(shared, tables, prior, prior, done)
        return model

    def after_skip(self):
        patience = {"dbn": self.continuation[:1], "ccm": self.continuation[:1]}
        g = float(patience[self.name][0]) if self.name in patience else 1.0
        return [(g, True, False), (1 - g, False, False)]

    def after_click(self, rank):
        """Probability, whether the user goes on, whether she is satisfied."""
        a, s, going = self.attraction[rank], self.satisfaction[rank], self.continuation
        return {
            "cascade": lambda: [(1.0, False, False)],
            "dcm": lambda: [(going[rank], True, False), (1 - going[rank], False, False)],
            "sdbn": lambda: [(s, False, True), (1 - s, True, False)],
            "dbn": lambda: [
                (s, False, True),
                ((1 - s) * going[0], True, False),
                ((1 - s) * (1 - going[0]), False, False),
            ],
            "ccm": lambda: [
                (a * going[2], True, True),
                (a * (1 - going[2]), False, True),
                ((1 - a) * going[1], True, False),
                ((1 - a) * (1 - going[1]), False, False),
            ],
        }[self.name]()


@dataclass
class Course:
    """One way that an interaction can go."""

    probability: float = 1.0
    clicks: tuple = ()
    read: tuple = ()
    satisfied: tuple = ()


def courses(users):
    """All of them, with their probabilities."""
    going, gone = [Course()], []
    for rank in range(users.top_k):
        ahead = []
        for c in going:
            for clicked in (True, False):
                a = users.attraction[rank]
                p = c.probability * (a if clicked else 1 - a)
                after = users.after_click(rank) if clicked else users.after_skip()
                if rank == users.top_k - 1:
                    after = [(1.0, False, False)]  # there is nothing to go on to
                for q, on, pleased in after:
                    course = Course(
                        p * q, (*c.clicks, clicked), (*c.read, True), (*c.satisfied, pleased)
                    )
                    (ahead if on else gone).append(course)
        going = ahead

    def filled(values):
        return values + (False,) * (users.top_k - len(values))

    return [
        Course(c.probability, filled(c.clicks), filled(c.read), filled(c.satisfied)) for c in gone
    ]


@dataclass
class Posterior:
    """Expected counts given the clicks, by rank."""

    probability: float = 0.0
    skips: np.ndarray = field(default_factory=lambda: np.zeros(1))
    continued: np.ndarray = field(default_factory=lambda: np.zeros(1))
    stopped: np.ndarray = field(default_factory=lambda: np.zeros(1))
    satisfied: np.ndarray = field(default_factory=lambda: np.zeros(1))
    skip_continued: float = 0.0
    skip_stopped: float = 0.0


def posteriors(users):
    """By clicks: their probability, and expected counts of what is hidden."""
    found = defaultdict(Posterior)
    for c in courses(users):
        p = c.probability
        clicks, read = np.array(c.clicks), np.array(c.read)
        on = np.append(read[1:], False)
        open_ended = np.arange(users.top_k) < users.top_k - 1
        post = found[c.clicks]
        post.probability += p
        post.skips = post.skips + p * (read & ~clicks)
        post.continued = post.continued + p * (clicks & on)
        post.stopped = post.stopped + p * (clicks & ~on & open_ended)
        post.satisfied = post.satisfied + p * (np.array(c.satisfied) & clicks & open_ended)
        post.skip_continued += p * (read & ~clicks & on).sum()
        post.skip_stopped += p * (read & ~clicks & ~on & open_ended).sum()
    for post in found.values():
        for name in ("skips", "continued", "stopped", "satisfied"):
            setattr(post, name, getattr(post, name) / post.probability)
        post.skip_continued /= post.probability
        post.skip_stopped /= post.probability
    return found


def one_interaction(clicks):
    """A log of one interaction on documents 0, 1, ... of one query."""
    clicks = np.array([clicks])
    return ClickLog(np.zeros(1, np.int64), np.arange(clicks.shape[1])[None], clicks)


def all_clicks(top_k):
    """A log of every possible interaction, once."""
    clicks = np.array(list(product([False, True], repeat=top_k)))
    documents = np.tile(np.arange(top_k), (len(clicks), 1))
    return ClickLog(np.zeros(len(clicks), np.int64), documents, clicks)
