"""Settings of the numerical libraries below torch, made where a run starts.

The libraries read these environment variables when they first compute. A value that the user has
set stays.
"""

import os

SETTINGS = {
    # The same bits for any number of threads; no difference in speed could be measured.
    "MKL_CBWR": "AUTO,STRICT",
    # Threads that wait by spinning slow each other down on a busy machine.
    "OMP_WAIT_POLICY": "PASSIVE",
}


def set_up_libraries() -> None:
    """Set what the user has not set."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
