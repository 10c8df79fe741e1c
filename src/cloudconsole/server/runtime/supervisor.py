"""Parent process of the workers: start, restart, detection of frozen workers, shutdown."""

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Final, NamedTuple

from cloudconsole.core.clock import Clock
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.metrics.exposition import MetricsExposition, StoreGauges
from cloudconsole.server.metrics.layout import DIED, FROZEN
from cloudconsole.server.metrics.server import MetricsServer
from cloudconsole.server.metrics.shared_memory import SharedMetrics
from cloudconsole.server.runtime.server import STOP_SIGNALS, StopReason
from cloudconsole.server.runtime.systemd import Notifier
from cloudconsole.server.runtime.tls import RELOAD_SIGNAL, Certificate
from cloudconsole.server.runtime.worker import (
    ListeningSockets,
    call_when_closed,
    log_start,
    log_stop,
    run_worker,
)
from cloudconsole.server.test_mode.runtime import ServerRuntime

POLL_SECONDS: Final = 0.1
"""Interval at which the supervisor polls its workers."""


class FrozenWorkerDetector:
    """Detects frozen workers by their heartbeat counters.

    Time is measured in polls and not by a clock: while the machine is suspended, or too busy to run the supervisor, no
    worker counts as frozen.
    """

    def __init__(self, seconds: int) -> None:
        """Count a worker as frozen after `seconds` without a heartbeat; 0 disables this."""
        self._limit = seconds / POLL_SECONDS
        self._last: dict[int, tuple[int, int]] = {}

    def frozen(self, beats: Mapping[int, int]) -> list[int]:
        """Poll once and return the frozen workers; one that is starting has no heartbeat yet."""
        previous = self._last
        self._last = {}
        for worker, number in beats.items():
            last, polls = previous.get(worker, (0, 0))
            self._last[worker] = number, polls + 1 if number == last else 0
        if not self._limit:
            return []
        return [worker for worker, (number, polls) in self._last.items() if number and polls >= self._limit]


log = logging.getLogger(__name__)

RESTART_SECONDS: Final = 1.0
STOP_MARGIN_SECONDS: Final = 5
CUT_OFF_CODE: Final = 3
"""Exit code of a worker that ended with requests still running."""
FORK_SIGNALS: Final = (*STOP_SIGNALS, RELOAD_SIGNAL)
"""Blocked while a process is being started."""


def serve(
    settings: Settings,
    sockets: ListeningSockets,
    certificate: Certificate | None,
    runtime: ServerRuntime,
    notifier: Notifier,
) -> int:
    """Serve until a stop signal, over https if there is a certificate; return the exit code."""
    shared_metrics = SharedMetrics(settings.workers, settings.plugin_names)
    log_start(settings, sockets)
    if settings.workers == 1 and sockets.metrics is None:
        ending = run_worker(
            settings, sockets.calls, certificate, shared_metrics, 0, runtime, runtime.lifeline, notifier
        )
    else:
        ending = Supervisor(settings, sockets, certificate, shared_metrics, runtime, notifier).run()
    log_stop(settings, ending)
    return 0


def run_metrics(
    settings: Settings, listener: socket.socket, shared_metrics: SharedMetrics, clock: Clock, parent_pipe: int
) -> int:
    """Run the metrics process until its parent kills it or is gone."""
    # This process has nothing to reload.
    signal.signal(RELOAD_SIGNAL, signal.SIG_IGN)
    for sig in STOP_SIGNALS:
        # Metrics stay available while the workers drain.
        signal.signal(sig, signal.SIG_IGN)
    page = MetricsExposition(shared_metrics, StoreGauges(settings, clock))

    async def main() -> None:
        call_when_closed(parent_pipe, lambda: os._exit(0))
        await MetricsServer(page.text).serve(listener)

    asyncio.run(main())
    return 0


class Job(NamedTuple):
    """Work of a child process."""

    name: str
    run: Callable[[], int]
    worker: int | None = None
    """Number of the worker; None for the metrics process."""


class Supervisor:
    """Starts the workers, restarts dead ones, and forwards signals to all."""

    def __init__(
        self,
        settings: Settings,
        sockets: ListeningSockets,
        certificate: Certificate | None,
        shared_metrics: SharedMetrics,
        runtime: ServerRuntime,
        notifier: Notifier,
    ) -> None:
        self._settings = settings
        self._sockets = sockets
        self._certificate = certificate
        self._shared_metrics = shared_metrics
        self._runtime = runtime
        self._notifier = notifier
        self._liveness = FrozenWorkerDetector(settings.worker_timeout)
        self._running: dict[int, tuple[Job, float]] = {}
        self._frozen: set[int] = set()
        self._stopping = False
        self._ending = StopReason(signal=None, drained=True)
        # Never written to: it closes when this process ends in any way, which the children detect.
        self._pipe_read, self._pipe_write = os.pipe()

    def run(self) -> StopReason:
        for sig in STOP_SIGNALS:
            signal.signal(sig, self._stop)
        signal.signal(RELOAD_SIGNAL, self._reload)
        for job in self._jobs():
            self._start(job)
        while self._workers():
            self._reap()
        for process in self._running:
            # The metrics process runs until all workers have ended, and has nothing to finish. Wait, to free its port.
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
        return self._ending

    def _jobs(self) -> list[Job]:
        jobs = [Job("worker", partial(self._run_worker, worker), worker) for worker in range(self._settings.workers)]
        if self._sockets.metrics is not None:
            jobs.append(Job("metrics process", partial(self._run_metrics, self._sockets.metrics)))
        return jobs

    def _run_worker(self, worker: int) -> int:
        if self._sockets.metrics is not None:
            self._sockets.metrics.close()
        ending = run_worker(
            self._settings,
            self._sockets.calls,
            self._certificate,
            self._shared_metrics,
            worker,
            self._runtime,
            self._pipe_read,
        )
        return 0 if ending.drained else CUT_OFF_CODE

    def _run_metrics(self, listener: socket.socket) -> int:
        self._sockets.calls.close()
        return run_metrics(self._settings, listener, self._shared_metrics, self._runtime.clock, self._pipe_read)

    def _workers(self) -> list[int]:
        return [process for process, (job, _) in self._running.items() if job.worker is not None]

    def _start(self, job: Job) -> None:
        # Block signals until the new process is registered here, and has replaced the inherited handlers.
        signal.pthread_sigmask(signal.SIG_BLOCK, FORK_SIGNALS)
        if self._stopping:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, FORK_SIGNALS)
            return
        if self._certificate is not None:
            self._certificate.renew()
        process = os.fork()
        if process:
            self._running[process] = job, time.monotonic()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, FORK_SIGNALS)
            return
        code = 1
        try:
            for sig in STOP_SIGNALS:
                signal.signal(sig, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
            os.close(self._pipe_write)
            code = job.run()
        except BaseException:
            log.exception("a %s failed", job.name)
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> None:
        try:
            process, status = self._wait()
        except ChildProcessError:
            self._running.clear()
            return
        if process not in self._running:
            # An orphan, adopted because this is the first process of a container.
            return
        job, started = self._running.pop(process)
        reason = FROZEN if process in self._frozen else DIED
        self._frozen.discard(process)
        if job.worker is not None:
            self._shared_metrics.worker(job.worker).clear_gauges()
        if self._stopping:
            # A worker that a signal ended before it had a handler had no requests yet.
            if job.worker is not None and os.waitstatus_to_exitcode(status) not in (0, *(-sig for sig in STOP_SIGNALS)):
                self._ending = self._ending._replace(drained=False)
            return
        log.error("%s %d ended (%s); starting another", job.name, process, _how(status))
        # Do not restart a worker that fails to start in a tight loop.
        time.sleep(max(0.0, RESTART_SECONDS - (time.monotonic() - started)))
        if not self._stopping:
            if job.worker is not None:
                self._shared_metrics.worker(job.worker).note_restart(reason)
            self._start(job)

    def _wait(self) -> tuple[int, int]:
        """Wait for a child to end; meanwhile notify the service manager and check for frozen workers."""
        while True:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process:
                return process, status
            if self._shared_metrics.is_accepting():
                self._notifier.ready()
            self._notifier.ping()
            if not self._stopping:
                self._kill_frozen()
            time.sleep(POLL_SECONDS)

    def _kill_frozen(self) -> None:
        """Kill frozen workers; each is then replaced as one that died."""
        frozen = self._liveness.frozen(self._shared_metrics.beats())
        for process, (job, _) in self._running.items():
            if job.worker in frozen and process not in self._frozen:
                log.error("worker %d has been frozen for %d s; replacing it", process, self._settings.worker_timeout)
                self._frozen.add(process)
                os.kill(process, signal.SIGKILL)

    def _reload(self, _signal: int, _frame: FrameType | None) -> None:
        self._notifier.reloading()
        self._send_workers(RELOAD_SIGNAL)
        self._notifier.ready()

    def _stop(self, sig: int, _frame: FrameType | None) -> None:
        if not self._stopping:
            self._stopping = True
            self._notifier.stopping()
            self._ending = self._ending._replace(signal=sig)
            # While it is open here, the kernel completes connections that no worker accepts any more.
            self._sockets.calls.close()
            self._shared_metrics.stop()
            self._send_workers(signal.SIGTERM)
            signal.signal(signal.SIGALRM, self._kill)
            signal.alarm(self._settings.stop_grace + STOP_MARGIN_SECONDS)

    def _kill(self, _signal: int, _frame: FrameType | None) -> None:
        self._send_workers(signal.SIGKILL)

    def _send_workers(self, sig: signal.Signals) -> None:
        for process in self._workers():
            # It may have ended without being reaped yet.
            with suppress(ProcessLookupError):
                os.kill(process, sig)


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {-code}" if code < 0 else f"exit code {code}"
