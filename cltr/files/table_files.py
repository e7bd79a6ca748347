"""Tables from elsewhere, read by duckdb: Parquet, CSV, TSV, JSON lines, data frames; any size.

Text is read as text and nothing is guessed: an id such as ``460.10`` stays what it is, and a line
that does not fit is an error with its number, never skipped.
"""

import csv
import gzip
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal

from cltr.errors import DataError, UsageError
from cltr.files.claims import hidden_folder
from cltr.files.json_files import require_regular

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

OnShare = Callable[[str, float], None]
"""Called now and then with a stage and how much of it is done, from 0 to 1."""

KINDS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
"""What a file is, by how its name ends; text may be compressed (``.gz``)."""
_GLOB = str.maketrans({character: f"[{character}]" for character in "*?["})


def silent(stage: str, done: float) -> None:
    """Progress that nobody wants to see."""
    del stage, done


@contextmanager
def workspace(folder: Path | None = None, *, memory: str = "") -> Iterator["Connection"]:
    """A connection to an empty database whose memory is bounded: what does not fit goes to disk.

    Args:
        folder: where a hidden folder may be made for what does not fit, removed at the end; the
            system's own place for temporary files by default.
        memory: the bound, such as ``4GB``; half of the machine's by default.
    """
    import duckdb

    with hidden_folder(folder) as place:
        # No extension is fetched from the network: all that is used comes with the package.
        connection = duckdb.connect(
            config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}
        )
        try:
            connection.execute("SET temp_directory = ?", [str(place)])
            connection.execute("SET enable_progress_bar = false")
            connection.execute("SET TimeZone = 'UTC'")
            _limit(connection, memory)
            yield connection
        finally:
            connection.close()


def _limit(connection: "Connection", memory: str) -> None:
    import duckdb

    if not memory:
        from os import sysconf

        memory = f"{sysconf('SC_PAGE_SIZE') * sysconf('SC_PHYS_PAGES') // 2 // 1_000_000}MB"
    try:
        connection.execute("SET memory_limit = ?", [memory])
    except duckdb.Error as error:
        raise UsageError(f"--memory {memory}: expected a size such as 4GB") from error


def select_files(connection: "Connection", paths: Sequence[Path | str]) -> str:
    """A query for all rows of some files of one kind; a folder stands for its files.

    Args:
        connection: to look into JSON files for their columns.
        paths: files or folders; all files must have the same columns.
    """
    files = expand(paths)
    kind = kind_of(files)
    names = "[" + ", ".join(text(_pattern(path)) for path in files) + "]"
    if kind == "parquet":
        return f"SELECT * FROM read_parquet({names}, union_by_name = true)"
    if kind == "json":
        with plain_errors(files):
            return _select_json(connection, names)
    return _select_text(files, names, kind)


def kind_of(files: Sequence[Path]) -> str:
    """What files are (``parquet``, ``csv``, ``tsv`` or ``json``); all must be of one kind."""
    kinds = {_kind(path) for path in files}
    if len(kinds) > 1:
        raise UsageError(f"{files[0]}: give files of one kind, not {' and '.join(sorted(kinds))}")
    return kinds.pop()


def is_table(path: Path) -> bool:
    """Whether a file is one that :func:`select_files` reads, by how its name ends."""
    return _ending(path) in KINDS


def _pattern(path: Path) -> str:
    """A file as duckdb wants it named: without wildcards, and no name means a home folder.

    Example:
        >>> _pattern(Path("~.csv")), _pattern(Path("log[v2].csv"))
        ('./~.csv', 'log[[]v2].csv')
    """
    name = f"./{path}" if str(path).startswith("~") else str(path)
    return name.translate(_GLOB)


def expand(paths: Sequence[Path | str]) -> list[Path]:
    """The files themselves, folders replaced by what lies in them, in order."""
    files: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            found = sorted(p for p in path.rglob("*") if p.is_file() and _ending(p) in KINDS)
            if not found:
                raise DataError(f"{path}: holds no file that ends in {', '.join(KINDS)}")
            files += found
        elif not path.exists():
            raise DataError(f"{path}: no such file")
        else:
            require_regular(path)
            files.append(path)
    if not files:
        raise UsageError("no files were named; name at least one")
    return files


def _ending(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def _kind(path: Path) -> str:
    if _ending(path) in (".h5", ".hdf5"):
        raise DataError(
            f"{path}: is not a table, whose name ends in {', '.join(KINDS)}; in Python, cltr.Log "
            "opens a log file, and cltr.open_dataset a data set"
        )
    if _ending(path) not in KINDS:
        raise DataError(f"{path}: unknown kind of file; its name must end in {', '.join(KINDS)}")
    return KINDS[_ending(path)]


def _select_text(files: list[Path], names: str, kind: str) -> str:
    delimiter, quote = {"csv": (",", '"'), "tsv": ("\t", "")}[kind]
    columns = header(files[0], delimiter, quote)
    for path in files[1:]:
        if header(path, delimiter, quote) != columns:
            raise DataError(
                f"{path}: its columns differ from those of {files[0]}; import them separately"
            )
    # Types and dialect are given, not sniffed: the sniffer skips lines that do not fit.
    return (
        f"SELECT * FROM read_csv({names}, auto_detect = false, header = true, comment = '', "
        f"strict_mode = true, delim = {text(delimiter)}, quote = {text(quote)}, "
        f"escape = {text(quote)}, columns = {_struct(dict.fromkeys(columns, 'VARCHAR'))})"
    )


def header(path: Path, delimiter: str, quote: str) -> list[str]:
    """The column names of a text file."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
    try:
        with opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as stream:
            columns = next(csv.reader(stream, delimiter=delimiter, quoting=quoting), [])
    except (OSError, EOFError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read: {_first_line(error)}") from error
    if not columns:
        raise DataError(f"{path}: is empty; expected a line with the names of its columns")
    twice = [name for name in columns if columns.count(name) > 1]
    if twice or "" in columns[1:]:
        what = f"'{twice[0]}' stands twice" if twice and twice[0] else "a column has no name"
        raise DataError(f"{path}: line 1: {what}; expected a line with the names of its columns")
    return [name or "column0" for name in columns]  # an index that was written without a name


def _select_json(connection: "Connection", names: str) -> str:
    """JSON lines; what is no plain number or flag is read as text, so that ids stay what they are.

    All lines are looked at, since later ones may have what the first ones have not.
    """
    guess = f"SELECT * FROM read_json({names}, format = 'auto', {_WHOLE_FILE})"
    columns = {name: _as_text(kind) for name, kind in columns_of(connection, guess).items()}
    return f"SELECT * FROM read_json({names}, format = 'auto', columns = {_struct(columns)})"


_WHOLE_FILE = "union_by_name = true, sample_size = -1, map_inference_threshold = -1"


def _as_text(kind: str) -> str:
    """A type with text instead of all that is guessed from text.

    Example:
        >>> _as_text('STRUCT("time" TIME, n BIGINT, ids UUID[])[]')
        'STRUCT("time" VARCHAR, n BIGINT, ids VARCHAR[])[]'
    """
    guessed = "UUID|TIME|DATE|TIMESTAMP(?:_[A-Z]+| WITH TIME ZONE)?|DOUBLE|U?HUGEINT|JSON|NULL"
    return re.sub(rf"(^|(?<=[ (]))({guessed})(?=[,)\[]|$)", "VARCHAR", kind)


def columns_of(connection: "Connection", sql: str) -> dict[str, str]:
    """Names and types of a query's columns."""
    return {name: kind for name, kind, *_ in connection.execute(f"DESCRIBE {sql}").fetchall()}


def _struct(columns: dict[str, str]) -> str:
    return "{" + ", ".join(f"{text(name)}: {text(kind)}" for name, kind in columns.items()) + "}"


def text(value: str) -> str:
    """A string as SQL.

    Example:
        >>> text("it's")
        "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """The name of a column or table as SQL.

    Example:
        >>> quoted("doc")
        '"doc"'
    """
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def plain_errors(files: Sequence[Path] = (), *, where: str = "log") -> Iterator[None]:
    """What duckdb complains of in a file, as one line with the file and the line's number."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise DataError(f"{where}: not enough memory or disk; give more with --memory") from error
    except duckdb.Error as error:
        raise DataError(_explain(str(error), files, where)) from error


def _explain(message: str, files: Sequence[Path], where: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    first = re.sub(r"^(\w+ )+Error: ", "", lines[0]) if lines else "cannot be read"
    place = next((str(p) for p in files if str(p) in message), str(files[0]) if files else where)
    csv_line = re.search(r"CSV Error on Line: (\d+)", message)
    if csv_line:
        reasons = (line for line in lines[1:] if not line.startswith("Original Line"))
        reason = next(
            (line for line in reasons if re.match(r"Expected|Value|Invalid|Max", line)), ""
        )
        reason = reason.split(". ")[0].rstrip(".").lower() or "does not fit the columns"
        return f"{place}: line {csv_line[1]}: {reason[:200]}"
    if "Malformed JSON" in message:
        path = next((p for p in files if str(p) in message), None)
        number = _bad_json_line(path) if path else 0
        if number:
            return f"{place}: line {number}: is not JSON"
    return f"{place}: cannot be read: {first[:300]}"


def _bad_json_line(path: Path) -> int:
    """Number of the first line that is not JSON; 0 if there is none."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with suppress(OSError, EOFError), opened(path, "rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                json.loads(line or b"0")
            except (ValueError, RecursionError):  # or nested too deeply
                if line.strip():
                    return number
    return 0


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def run(connection: "Connection", sql: str, stage: str = "", progress: OnShare = silent) -> None:
    """Execute a statement that takes its time, and say how far it is."""
    if progress is silent:
        connection.execute(sql)
        return
    failed: list[BaseException] = []

    def work() -> None:
        try:
            connection.execute(sql)
        except BaseException as error:
            failed.append(error)

    thread = Thread(target=work)
    progress(stage, 0.0)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.1)
            progress(stage, max(0.0, min(float(connection.query_progress()) / 100, 1.0)))
    except BaseException:
        connection.interrupt()
        raise
    finally:
        thread.join()
    if failed:
        raise failed[0]
    progress(stage, 1.0)


def arrays(connection: "Connection", sql: str) -> dict[str, Any]:
    """The columns of a query's result as numpy arrays, masked where NULL."""
    return dict(connection.execute(sql).fetchnumpy())
