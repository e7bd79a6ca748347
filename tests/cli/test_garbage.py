"""The search for circular garbage, which a command makes rarer for its own process only."""

import subprocess
import sys

from cltr.cli.common.garbage import BETWEEN_FULL

HELP = "import sys\nsys.argv = ['cltr', '--help']\nfrom cltr.cli import main\n"
AT_THE_END = "import atexit, gc\natexit.register(lambda: print(gc.get_freeze_count() > 1000))\n"


def test_a_command_looks_at_all_objects_seldom_and_not_at_the_end(run_python):
    ask = "import gc\ntry: main()\nexcept SystemExit: print(*gc.get_threshold())"
    words = run_python(f"{AT_THE_END}{HELP}{ask}").split()
    assert words[-4:] == [*_own_of_python(run_python)[:2], str(BETWEEN_FULL), "True"]


def test_who_imports_cltr_keeps_his_own_search(run_python):
    ask = "import cltr, gc\ncltr.train\nprint(*gc.get_threshold())"
    assert run_python(f"{AT_THE_END}{ask}").split() == [*_own_of_python(run_python), "False"]


def test_a_command_that_uses_duckdb_ends_without_its_complaints(tmp_path):
    rows = "".join(f"s{i},q,1,d,{i % 2}\n" for i in range(60))
    (tmp_path / "log.csv").write_text(f"session,query,position,doc,click\n{rows}")
    words = ["-m", "cltr", "ingest", "log.csv", "--out", "log.h5"]
    done = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "leaked" not in done.stderr


def _own_of_python(run_python) -> list[str]:
    return run_python("import gc\nprint(*gc.get_threshold())").split()
