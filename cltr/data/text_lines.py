"""The bytes of a text file, plain or compressed by gzip, in blocks of whole lines."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.files.json_files import require_regular

BLOCK = 8 * 2**20
"""Bytes that are read at a time; a longer line makes a longer block."""
LONGEST_LINE = 64 * 2**20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BREAK = b"\n"


def whole_lines(
    path: Path, *, progress: Callable[[int], None] = lambda position: None
) -> Iterator[NDArray[np.uint8]]:
    """Yield blocks of bytes that end in a line break; each is overwritten by the next.

    Args:
        path: the file; gzip is known by its first bytes, not by its name.
        progress: called with the place in the file, in bytes, when a block has been used.
    """
    with _opened(path) as (stream, file):
        for block in _blocks(path, stream):
            yield block
            progress(file.tell())


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, BinaryIO]]:
    """The text, and the file under it."""
    require_regular(path)
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            yield (gzip.GzipFile(fileobj=file) if packed else file), file
    except EOFError as error:
        raise DataError(f"{path}: the gzip file is cut off; copy it again") from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: the gzip file is damaged; copy it again") from error
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file") from error
    except (IsADirectoryError, PermissionError) as error:
        raise DataError(f"{path}: cannot be read: {str(error.strerror).lower()}") from error


def _blocks(path: Path, stream: Any) -> Iterator[NDArray[np.uint8]]:
    # One byte is kept free for the break that the last line may lack.
    buffer = bytearray(BLOCK + 1)
    filled = _begin(stream, buffer)
    while True:
        if filled == len(buffer) - 1:
            if filled >= LONGEST_LINE:
                raise DataError(f"{path}: a line is longer than {LONGEST_LINE} bytes; is it text?")
            buffer = buffer + bytes(len(buffer))
        with memoryview(buffer) as view:
            read = stream.readinto(view[filled:-1])
        filled += read
        if not read and filled and buffer[filled - 1 : filled] != _BREAK:
            buffer[filled : filled + 1] = _BREAK
            filled += 1
        end = buffer.rfind(_BREAK, 0, filled) + 1
        if end:
            yield np.frombuffer(buffer, np.uint8, end)
            rest = filled - end
            buffer[:rest] = buffer[end:filled]
            filled = rest
        elif not read:
            return


def _begin(stream: Any, buffer: bytearray) -> int:
    """Read the first bytes, without the mark that some editors put there."""
    start = stream.read(len(_BYTE_ORDER_MARK))
    if start == _BYTE_ORDER_MARK:
        return 0
    buffer[: len(start)] = start
    return len(start)
