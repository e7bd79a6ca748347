"""``cltr`` for torchrun, saved after every epoch; one process kills itself where a test says so.

``KILL=1:2`` kills process 1 after epoch 2 of the training on clicks, and ``FREEZE=1:2`` stops it
there without ending it. A process that is not the
first fails if it opens a log.
"""

import os
import signal

from cltr.cli import main
from cltr.experiment import run_log, train_run
from cltr.training.loop import Trainer
from cltr.training.processes import current_processes

SIGNALS = {"KILL": signal.SIGKILL, "FREEZE": signal.SIGSTOP}
TRAIN, OPEN_LOG = Trainer.train, run_log.open_log


class EagerSaver(train_run._Saver):
    def __init__(self, folder) -> None:
        super().__init__(folder, every=-1.0)


def train(self, model, training, validation, *, on_epoch=lambda state: None, **choices):
    def killing(state):
        on_epoch(state)
        here = f"{current_processes().rank}:{state.epoch}"
        for name, sent in SIGNALS.items():
            if validation is not None and os.environ.get(name) == here:
                os.kill(os.getpid(), sent)

    return TRAIN(self, model, training, validation, on_epoch=killing, **choices)


def open_log(*given):
    assert current_processes().first, "not the first process, and it opens a log"
    return OPEN_LOG(*given)


if __name__ == "__main__":
    train_run._Saver = EagerSaver
    Trainer.train = train
    run_log.open_log = open_log
    main()
