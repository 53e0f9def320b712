"""What the bootstrap starts from the archive: takes the standard streams away, sweeps old scratch folders, runs the supervisor."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from kernelband_worker import system
from kernelband_worker.guardian import Guardian, remove
from kernelband_worker.nursery import Nurseries
from kernelband_worker.streams import take_streams
from kernelband_worker.supervisor import Supervisor
from kernelband_worker.wire import SCRATCH

_ALIVE = "alive"
_GRACE_S = 3600.0  # a folder without the file may be one that is just being made


def sweep(scratch: Path) -> None:
    """Remove this user's scratch folders whose supervisor is dead: the kernel has released the lock in them."""
    for folder in system.temporary_folders(system.SCRATCH_PREFIX):
        if folder == scratch:
            continue
        try:
            file = os.open(folder / _ALIVE, os.O_RDWR)
        except OSError:
            if system.age_s(folder) > _GRACE_S:
                remove(folder)
            continue
        try:
            if system.try_lock(file):
                remove(folder)
        finally:
            os.close(file)


def _claim(scratch: Path) -> None:
    """Hold a lock in the folder as long as this process lives. Under its name only when locked, or a sweep might take it."""
    new = scratch / f"{_ALIVE}.new"
    system.try_lock(os.open(new, os.O_RDWR | os.O_CREAT, 0o600))
    new.rename(scratch / _ALIVE)


def main(scratch: str, archive: str, executor: str) -> None:
    """Run the supervisor until the engine leaves.

    Args:
        scratch: a private folder, removed at the end.
        archive: the zip with this package, for the executors' sys.path.
        executor: the module whose ``main()`` an executor runs.
    """
    sys.dont_write_bytecode = True
    reader, writer = take_streams()
    folder = Path(scratch)
    marker = (SCRATCH, str(folder))
    guardian = Guardian.start(folder, "=".join(marker))
    _claim(folder)
    threading.Thread(target=sweep, args=(folder,), daemon=True, name="sweep").start()
    Supervisor(
        reader,
        writer,
        scratch=folder,
        archive=archive,
        executor=executor,
        guardian=guardian,
        nurseries=Nurseries(possible=system.adopt_orphans()),
        marker=marker,
    ).run()
