"""What a command does from start to end: a run in its folder, a log, a policy judged again."""

from cltr.jobs.described import describe, provenance, read_config
from cltr.jobs.evaluating import evaluate
from cltr.jobs.learning import resume, train
from cltr.jobs.simulating import simulate

__all__ = ["describe", "evaluate", "provenance", "read_config", "resume", "simulate", "train"]
