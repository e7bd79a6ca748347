"""Several processes of one command, as torchrun starts them: how many, and which one speaks."""

import os
from datetime import timedelta

PATIENCE = timedelta(seconds=5)
"""How long to wait for the launcher's store."""
LOST = "another process of this run was lost, or torchrun was stopped"
"""What a process knows whose connection breaks, or that torchrun ends."""


def launched() -> int:
    """How many processes a launcher such as torchrun has started for this command."""
    known = all(name in os.environ for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"))
    count = os.environ.get("WORLD_SIZE", "1")
    return int(count) if known and count.isdigit() else 1


def speaks() -> bool:
    """Whether this process tells an error: the first one that asks tells it, and no other."""
    if launched() == 1:
        return True
    try:
        from torch.distributed import TCPStore  # type: ignore[attr-defined]

        address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        store = TCPStore(address, port, is_master=False, timeout=PATIENCE)
        start = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        return bool(store.add(f"cltr/told/{start}", 1) == 1)
    except Exception:  # there is no store any more: nobody can be asked
        return True
