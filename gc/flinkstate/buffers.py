"""The bytes of a file: in memory, or mapped into it if they are many."""

from mmap import MADV_DONTNEED, PAGESIZE, mmap

Buffer = bytes | mmap
"""Bytes of a whole file: in memory, or those of a large file mapped into it."""


def let_go(data: Buffer, start: int, end: int) -> None:
    """Free the memory of the bytes from ``start`` to ``end``, if they are a mapped file's.

    A page that was read counts as memory of the process; reading it again brings it back.
    """
    if isinstance(data, mmap):
        first = start // PAGESIZE * PAGESIZE
        data.madvise(MADV_DONTNEED, first, min(end, len(data)) - first)
