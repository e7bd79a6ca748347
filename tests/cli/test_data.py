"""Guards the data commands: what they print fits a terminal, and looking at a file is quick."""

INFO = """
import sys
for name in ("torch", "numba", "duckdb", "matplotlib"): sys.modules[name] = None
sys.argv = ["cltr", "data", "info", {path!r}, "--json"]
from cltr.cli import main
main()
"""


def test_a_table_fits_a_terminal(cltr):
    text = cltr("data", "info", "demo").stdout
    assert "…" not in text
    assert "of grade 0 1 2" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_looking_at_a_file_needs_nothing_heavy(cltr, run_python, here):
    lines = "".join(f"{i % 2} qid:{i // 4} 1:{i}\n" for i in range(80))
    (here / "train.txt").write_text(lines)
    done = cltr("data", "import", "--train", "train.txt", "--out", "data.h5")
    assert done.exit_code == 0, done.stderr
    assert '"queries": 20' in run_python(INFO.format(path=str(here / "data.h5")))
