"""The same number for a cell on anyone's machine: what libraries choose by processor, chosen here.

Matrix products and loops add up in another order on another processor: MKL below torch goes by its
maker, OpenBLAS below numpy and the loops of torch and numpy by its widest vectors, all by its
threads. Training makes a different third digit of a different last bit. So the processes that
compute cells start with what every x86-64 processor of the last ten years can do, and one thread.
The compiled kernels need nothing: they may fuse a product with a sum, which such processors do
alike, and never change an order. Optimizers are fused: outside of that a square root of torch is
that of MKL's vector library, which goes by the maker whatever it is told.
"""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager

COMMON = "x86-64-v3"
"""AVX2 and FMA: Intel since 2013, AMD since 2015."""
CHOICES = {
    "MKL_CBWR": "COMPATIBLE",  # all others are for one maker's processors
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Environment variables, read when the libraries load."""


@contextmanager
def common_arithmetic() -> Iterator[None]:
    """Processes that are started inside compute the same on any common processor."""
    before = {name: os.environ[name] for name in CHOICES if name in os.environ}
    os.environ.update(CHOICES)
    try:
        yield
    finally:
        for name in CHOICES:
            del os.environ[name]
        os.environ.update(before)


def arithmetic() -> str:
    """Where cells are the same to the last bit: on all common processors, or on this one's kind."""
    from llvmlite.binding import get_host_cpu_features, get_host_cpu_name

    features = get_host_cpu_features()
    common = features.get("avx2") and features.get("fma")
    return COMMON if common else f"{platform.machine()} {get_host_cpu_name()}"
