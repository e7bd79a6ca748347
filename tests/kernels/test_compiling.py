"""Guards that compiling is announced once, and that nothing is said where a cache is found."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = """
import cltr.kernels.compiling
from numba import njit
@njit(cache=True)
def twice(x):
    return 2 * x
@njit(cache=True)
def thrice(x):
    return 3 * x
if __name__ == "__main__":
    import cltr_kernel_of_a_test as kernel
    print(kernel.twice(2) + kernel.thrice(1.5))
"""


def test_the_first_run_says_so_once_and_the_second_not_at_all(tmp_path):
    script = tmp_path / "cltr_kernel_of_a_test.py"
    script.write_text(CODE)
    first, second = (
        subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert first.stdout == second.stdout == "8.5\n"
    assert first.stderr == "compiling fast code for this command, once; this takes some seconds\n"
    assert second.stderr == ""
