"""A garbage collector for orphaned Apache Flink checkpoint files."""

import os

__version__ = "0.1.0"

# Before Arrow is imported: its default pool, mimalloc, keeps what each of the many listing
# threads has ever used, which is twice the memory of a whole plan.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
# Before NumPy is imported: nothing here multiplies matrices, and threads for it cost a start 50 ms.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
