"""Work shared among processes.

`Workers.spread` maps a function over jobs: in this process when there is one, in freshly started
processes otherwise. Results come as they are finished; at most a few jobs a process wait, so memory
does not grow with the number of jobs. A worker ends when its parent does, however that ended.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from types import TracebackType
from typing import Self, TypeVar

from swarm.errors import WorkerDied

Job = TypeVar("Job")
Result = TypeVar("Result")

_AHEAD = 3  # jobs that wait for each process


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begin(parent: int) -> None:
    """What a worker does first: leave Ctrl-C to its parent, and never outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()


class Workers:
    """A fixed number of processes, started when first needed; a context manager.

    Parameters
    ----------
    jobs : int
        Processes; 1 does the work in this one.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._pool is not None:
            if kind is not None:
                for process in list((self._pool._processes or {}).values()):
                    process.terminate()
            self._pool.shutdown(wait=True, cancel_futures=True)

    def spread(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """Results of `work` for every job, in the order in which they are finished.

        Raises
        ------
        WorkerDied
            When a process ends without an answer.
        """
        if self.jobs == 1:
            yield from map(work, jobs)
            return
        if self._pool is None:
            # Not fork: DuckDB and Arrow have threads, and a fork copies their locks.
            self._pool = ProcessPoolExecutor(
                self.jobs,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_begin,
                initargs=(os.getpid(),),
            )
        todo = iter(jobs)
        try:
            running: set[Future[Result]] = {
                self._pool.submit(work, job) for job in islice(todo, self.jobs * _AHEAD)
            }
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {self._pool.submit(work, job) for job in islice(todo, len(done))}
                for future in done:
                    yield future.result()
        except BrokenProcessPool as error:
            raise WorkerDied(
                "a worker process died (killed, or out of memory); what was finished is in the "
                "log, repeat the command to go on, with fewer --jobs if memory was short"
            ) from error
