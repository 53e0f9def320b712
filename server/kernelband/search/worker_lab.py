"""The laboratory of a run on a real worker: its executors, its compile pool, and the files that they import."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any, cast

from kernelband.errors import KernelBandError, WorkerError
from kernelband.hardware import DEFAULT_DEVICE, Device, driver_properties, find_device, from_gpu
from kernelband.search._lab import Built
from kernelband.search.compile_jobs import Build
from kernelband.source import Workspace
from kernelband.source.model import text_hash
from kernelband.worker import NOW, CompilePool, Executor, Worker, WorkerCommand
from kernelband_worker.wire import (
    Case,
    Environment,
    Gpu,
    ImportParams,
    LockWaiting,
    PrepareParams,
    SessionParams,
    SpecialiseResult,
    TrafficResult,
    VariantFile,
    VariantFiles,
)

IMPORT_S = 120.0  # a cold torch
MOST_COUNTERS = 12
GIVE_WAY = 10  # of compilers beside a GPU. Without one nothing is measured: on a busy machine they would wait for all others
COUNT_S = 10.0
COUNTED_S, ORIGINAL_COUNTED_S = 5.0, 15.0  # beside a GPU, after which no further case is counted: what is known of some must do
LONG_COUNT_S = 4.0  # of the original: programs that take so long are not interpreted for each variant, the search would wait for that alone
INTERPRET_S = 60.0  # the same without a GPU, where cores are few; a few programs take a second or two
COMPILE_S = 90.0  # one compilation of a variant: ptxas can hold one register-blown tile for minutes
COMPILE_SHARE, LEAST_COMPILE_S = 0.25, 15.0  # of a run's seconds beside a GPU: sixteen tiles of one move once held all compilers to the end
REFERENCES_S, REFERENCES_SHARE = 15.0, 0.2  # that the first check waits for them; and of a run's seconds
RELEASE_S = 60.0  # the GPU may be another run's first
SPECIALISE_S = 60.0  # the original: the program is imported in it


class WorkerLab:
    """Started by ``start``; ``close`` ends the worker with everything in it.

    ``measured`` is decided by what is there: a GPU of the worker's machine, unless another one is named.
    """

    def __init__(self, worker: Worker, workspace: Workspace, seed: int, *, counts: bool) -> None:
        self._worker, self._workspace, self._counts = worker, workspace, counts
        self._variants: dict[str, VariantFiles] = {}
        self._main: Executor | None = None
        scratch = worker.hello["scratch"]
        self._session: SessionParams = {
            "id": scratch.rpartition("/")[2],
            "top_level": workspace.top_level(),
            "store": f"{scratch}/store",
            "cache": f"{scratch}/cache",
            "seed": seed,
        }
        self._pool: CompilePool | None = None
        self._counters: CompilePool | None = None  # beside a GPU: interpret a few programs of what is compiled
        self._specialise_s = SPECIALISE_S
        self._compile_s = COMPILE_S
        self._next: Executor | None = None  # measures, once the entry has run
        self._counted_s = 0.0  # what counting the original took
        self._references: Future[list[Future[dict[str, Any]]]] | None = None  # compilations of the original for float64, when asked for
        self._references_s = REFERENCES_S
        self._warm = False
        self._environment: Environment | None = None
        self._device: Device | None = None
        self.gpu: Gpu | None = None

    @classmethod
    def start(
        cls,
        workspace: Workspace,
        *,
        worker: str | None,
        python: str | None,
        gpu: str | None,
        seed: int,
        on_log: Callable[[str, str], None],
        on_waiting: Callable[[LockWaiting], None] | None = None,
        warm: bool = False,
        counts: bool = True,
        seconds: float | None = None,
    ) -> WorkerLab:
        """Start the worker, look at what it has, and open its first executor. ``warm`` starts the compile pool too, in the background.
        ``counts``: beside a GPU what is built is also counted. ``seconds``: of the run, which no compilation may use up.

        Raises:
            WorkerError: it can't be reached or used.
            HardwareError: the named GPU is unknown.
        """
        named = find_device(gpu) if gpu is not None else None
        command = WorkerCommand.of(worker, python)
        lab = cls(Worker.start(command, files=workspace, on_log=on_log, on_waiting=on_waiting), workspace, seed, counts=counts)
        if seconds is not None:
            lab._compile_s = min(COMPILE_S, max(LEAST_COMPILE_S, COMPILE_SHARE * seconds))
            lab._references_s = min(REFERENCES_S, REFERENCES_SHARE * seconds)
        try:
            lab._look(named, maybe_gpu=bool(command.prefix) or Path("/dev/nvidiactl").exists())
            lab._warm = warm and lab.measured  # without a GPU the cores are busy interpreting
            for pool in lab._pools() if lab._warm else ():
                pool.warm()
        except BaseException:
            lab.close()
            raise
        return lab

    def _look(self, named: Device | None, *, maybe_gpu: bool) -> None:
        if maybe_gpu:
            self._main = self._executor("main", "gpu")
            self._environment = cast("Environment", self._main.call("environment", {}, IMPORT_S))
            found = self._environment["gpus"]
            there = from_gpu(found[0]) if found else None
            if there is not None and (named is None or named.key == there.key):
                self._use(there, found[0])
                return
            self._main.close()
        device = named or find_device(DEFAULT_DEVICE)
        self._use(device, None)
        self._main = self._executor("main", "cpu")
        if self._environment is None:
            self._environment = cast("Environment", self._main.call("environment", {}, IMPORT_S))

    def _use(self, device: Device, gpu: Gpu | None) -> None:
        self._device, self.gpu = device, gpu
        named = gpu["name"] if gpu is not None else device.name
        known: SessionParams = {**self._session, "target": device.target, "device_properties": driver_properties(device)}
        self._session = {**known, "device_name": named}
        measured = gpu is not None  # without one, cores are few and nothing else waits for them
        deadline_s, nice = (self._compile_s, GIVE_WAY) if measured else (COMPILE_S, 0)
        self._pool = CompilePool(self._worker, self._session, variants=self._files, deadline_s=deadline_s, nice=nice)
        if gpu is not None and self._counts:
            size = max(1, min(MOST_COUNTERS, self._worker.hello["cpus"] * 2 // 3))
            self._counters = CompilePool(
                self._worker, self._session, size=size, variants=self._files, name="traffic", role="cpu", nice=nice
            )

    # ------------------------------------------------------------ what it is

    @property
    def measured(self) -> bool:
        """Whether there is a GPU to measure on."""
        return self.gpu is not None

    @property
    def uuid(self) -> str | None:
        """Of the GPU, for its lock."""
        return self.gpu["uuid"] if self.gpu is not None else None

    @property
    def device(self) -> Device:
        """Measured on, or predicted for."""
        assert self._device is not None
        return self._device

    @property
    def environment(self) -> Environment:
        """The versions over there."""
        assert self._environment is not None
        return self._environment

    @property
    def compilers(self) -> CompilePool:
        assert self._pool is not None
        return self._pool

    @property
    def builders(self) -> int:
        """How many programs compile at once."""
        return self.compilers.size

    @property
    def store(self) -> str:
        """Where the cases are."""
        return self._session.get("store", "")

    # ------------------------------------------------------------ executors

    def measuring(self) -> Executor:
        """The one that captures, checks and times. It gets a fresh process by itself after a fault."""
        assert self._main is not None
        return self._main

    def open_ahead(self, case: Case) -> None:
        """A large project is imported for 20 s and more (flash-linear-attention, H100). The GPU's lock is held, for a module may launch."""
        if self._next is not None:
            self.measuring().close()
            self._main, self._next = self._next, None
        if self.measured:
            wanted: PrepareParams = {"open": case["id"]}
            self._in_background(self.measuring(), "prepare", wanted)

    def import_ahead(self, modules: Sequence[str]) -> None:
        """While the entry runs. They did it once the first variants were to be compiled, and the original waited for the first of them:
        flash-linear-attention's took 11 s each time, beside one another (16 cores, H200). The one that will measure, in a process that
        the entry hasn't been in, does it too.
        """
        for pool in self._pools() if self._warm else ():
            pool.import_ahead(modules)
        if self._warm:
            self._next = self._executor("measuring", "gpu")
            wanted: ImportParams = {"modules": list(modules)}
            self._in_background(self._next, "import", wanted)

    def _in_background(self, executor: Executor, operation: str, params: Mapping[str, Any]) -> None:
        """Of the user's program, beside calls that share the GPU's lock; where it fails, the first call that needs it will say why."""

        def do() -> None:
            try:
                executor.call(operation, params, IMPORT_S, self.uuid, shared=True)
            except KernelBandError:
                executor.restart()  # what is half imported may fail in another way

        threading.Thread(target=do, daemon=True, name=f"{operation} in {executor.name}").start()

    def fresh(self, name: str) -> Executor:
        """An executor of its own, started by its first call, in which all configurations of an autotuned variant compete: for the final.
        Names are not used twice.
        """
        return self._executor(name, "gpu" if self.measured else "cpu", {**self._session, "tuning": "all"})

    def _executor(self, name: str, role: str, session: SessionParams | None = None) -> Executor:
        session = self._session if session is None else session
        return Executor(self._worker, name, role, gpu=0 if role == "gpu" else None, session=session, variants=self._files)

    def make_way(self, lock: str | None) -> None:
        """A search may end with a minute of compiling ahead of it: while that went on, a final's processes took 8 s to start instead of 5
        (16 cores, H100). Killing them all takes a moment, for which nobody waits.
        """
        for pool in self._pools():
            threading.Thread(target=pool.close, daemon=True, name="stop compiling").start()
        if self.measured and self.measuring().running:
            with contextlib.suppress(KernelBandError):  # what can't release it keeps it: the final goes on all the same
                release: PrepareParams = {"cases": [], "release": True}
                self.measuring().call("prepare", release, RELEASE_S, lock, shared=True)

    def close(self) -> None:
        """End the worker with all its processes."""
        for pool in self._pools():
            pool.close()
        self._worker.close()

    def _pools(self) -> list[CompilePool]:
        return [pool for pool in (self._pool, self._counters) if pool is not None]

    # ------------------------------------------------------------ variants

    def keep(self, texts: Mapping[str, str], paths: Iterable[str]) -> VariantFiles:
        """Serve a variant's edited files from now on."""
        files: list[VariantFile] = [
            {"module": self._workspace.module_name(path), "path": path, "sha256": self._workspace.keep(texts[path])}
            for path in sorted(paths)
        ]
        name = text_hash("\n".join(f"{f['path']}\0{f['sha256']}" for f in files))[:16]
        out: VariantFiles = {"id": name, "files": files}
        self._variants[name] = out
        return out

    def _files(self, variant: str) -> VariantFiles:
        return self._variants[variant]

    def specialise(self, files: VariantFiles | None, cases: Sequence[str], seconds: float | None = None) -> SpecialiseResult:
        """What a variant would launch on the cases."""
        return cast("SpecialiseResult", self._specialise(files, cases, seconds, NOW).result())

    def _specialise(self, files: VariantFiles | None, cases: Sequence[str], seconds: float | None, turn: int) -> Future[dict[str, Any]]:
        params = {"variant": files["id"] if files is not None else None, "cases": list(cases)}
        return self.compilers.submit(params, operation="specialise", deadline_s=seconds or self._specialise_s, turn=turn)

    def count(self, files: VariantFiles | None, cases: Sequence[str]) -> Future[TrafficResult]:
        """By executors of their own beside a GPU, else by those that compile: cores are few there, and a torch more takes seconds."""
        params: dict[str, Any] = {"variant": files["id"] if files is not None else None, "cases": list(cases)}
        if self._counters is not None:
            params["within_s"] = ORIGINAL_COUNTED_S if files is None else COUNTED_S
        seconds = SPECIALISE_S if files is None else COUNT_S if self._counters is not None else INTERPRET_S
        if self._counters is not None:
            start = time.monotonic()
            job = self._counters.submit(params, operation="traffic", deadline_s=seconds)
            if files is None:
                job.add_done_callback(lambda _: self._took(time.monotonic() - start))
        else:  # nothing of a variant is forecast before
            job = self.compilers.submit(params, operation="traffic", deadline_s=seconds, turn=NOW)
        return cast("Future[TrafficResult]", job)

    def _took(self, seconds: float) -> None:
        self._counted_s = seconds

    def build_references(self, cases: Sequence[Case]) -> None:
        """One compilation for each distinct launch, while the original is timed. A kernel of many sizes compiled for 13 s in its first
        check (fused softmax, 15 cases, H200).
        """
        asked: Future[list[Future[dict[str, Any]]]] = Future()

        def compile_all(job: Future[dict[str, Any]]) -> None:
            found: list[Future[dict[str, Any]]] = []
            try:
                launches = () if job.cancelled() or job.exception() is not None else cast("SpecialiseResult", job.result())["launches"]
                with contextlib.suppress(WorkerError):  # the run is over, and its compilers are closed
                    for launch in {x["key"]: x for x in launches}.values():
                        known = {"variant": None, "launch": launch, "target": self.device.target, "instructions": False}
                        found.append(self.compilers.submit(known, turn=NOW))
            finally:
                asked.set_result(found)

        params = {"variant": None, "cases": [c["id"] for c in cases if c["replayable"]], "double": True}
        self._references = asked
        self.compilers.submit(params, operation="specialise", deadline_s=SPECIALISE_S, turn=NOW).add_done_callback(compile_all)

    def references_built(self) -> None:
        """A first check that doesn't wait for them compiled them a second time, one after another, for 10 s (fused softmax)."""
        if self._references is not None:
            until = time.monotonic() + self._references_s
            wait([self._references], timeout=self._references_s)
            if self._references.done():
                wait(self._references.result(), timeout=max(0.0, until - time.monotonic()))

    def build(self, files: VariantFiles | None, cases: Sequence[Case]) -> Future[Built]:
        """Specialise in the pool, then compile each distinct launch there, before what was asked for later; the first failure ends the rest
        of that variant.

        Beside a GPU its traffic is counted too, unless that takes long; where it fails, nothing is known of it, and its check will say why.
        """
        out: Future[Built] = Future()
        start, turn = time.monotonic(), self.compilers.turn()
        able = [c["id"] for c in cases if c["replayable"]]
        timed = [c["id"] for c in cases if c["replayable"] and c["role"] == "time"]

        def compile_all(job: Future[dict[str, Any]]) -> None:
            try:
                specialised = cast("SpecialiseResult", job.result())
                if files is None:  # the original, in a fresh process: no variant needs much longer
                    self._specialise_s = 5.0 + 3.0 * (time.monotonic() - start)
                counts = self._counters is not None and self._counted_s < LONG_COUNT_S
                counting = self.count(files, timed) if counts else None
                Build(self.compilers, self.device, files, specialised, out, turn=turn, timed=timed, counting=counting).begin()
            except BaseException as error:  # noqa: BLE001 - belongs to the one who waits
                out.set_exception(error)

        self._specialise(files, able, None, turn).add_done_callback(compile_all)
        return out
