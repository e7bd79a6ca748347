"""``cltr`` for torchrun, saved after every epoch; one process kills itself where a test says so.

``KILL=1:2`` kills process 1 after epoch 2 of the training that is saved.
"""

import os
import signal

from cltr.cli import main
from cltr.experiment import train_run
from cltr.training.processes import current_processes


class EagerSaver(train_run._Saver):
    def __init__(self, folder) -> None:
        super().__init__(folder, every=-1.0)

    def __call__(self, state) -> None:
        super().__call__(state)
        if os.environ.get("KILL") == f"{current_processes().rank}:{state.epoch}":
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    train_run._Saver = EagerSaver
    main()
