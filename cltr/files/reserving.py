"""Claim a folder for results before the work that leads to them."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cltr.files.claims import reserve
from cltr.files.storage import make_folder


@contextmanager
def reserve_in(folder: Path | None, name: str) -> Iterator[None]:
    """Make a folder and claim a file in it; a new folder goes again if nothing was put into it.

    A folder that cannot be made or written, or that another process writes to, is refused here.

    Args:
        folder: for results; None reserves nothing.
        name: of the file that stands for all of them.
    """
    if folder is None:
        yield
        return
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    make_folder(folder)
    try:
        with reserve(folder / name):
            yield
    finally:
        for one in made:
            with suppress(OSError):
                one.rmdir()
