"""Work in a thread of its own, where no signal interrupts it.

Python runs signal handlers in the main thread, between any two of its steps. So whatever deletes
and records what it deleted runs elsewhere, and the main thread does nothing but wait.
"""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Thread
from typing import TypeVar

_Result = TypeVar("_Result")

_SECONDS_BETWEEN_SIGNALS = 0.2
"""A signal that another thread is given, or that comes just before a wait, does not end the wait:
its handler runs when the wait is over."""


def undisturbed(work: Callable[[], _Result], stop: Callable[[], None], name: str) -> _Result:
    """Return the result of some work, done in another thread.

    A signal that is raised here asks the work to stop, and is raised again when it has ended. One
    that comes before the work could begin lets it not begin.

    Raises:
        BaseException: What a signal raised meanwhile, or else what the work raised.
    """
    given: SimpleQueue[Callable[[], _Result] | None] = SimpleQueue()
    results: list[_Result] = []
    raised: list[BaseException] = []
    is_over = Event()  # a join that a signal breaks off takes the thread for ended

    def carry_out() -> None:
        try:
            if (task := given.get()) is not None:
                results.append(task())
        except BaseException as err:  # noqa: BLE001 - raised below, in the thread that asked
            raised.append(err)
        finally:
            is_over.set()

    try:
        Thread(target=carry_out, name=name).start()
        is_given = False
        while not is_over.is_set():
            try:
                if not is_given:
                    given.put(work)
                    is_given = True
                is_over.wait(_SECONDS_BETWEEN_SIGNALS)
            except BaseException as err:  # noqa: BLE001 - raised when the work has ended
                raised.insert(0, err)
                stop()
    finally:
        given.put(None)
    for each in raised:
        raise each
    return results[0]
