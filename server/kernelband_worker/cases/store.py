"""The store of a run: contents by hash and one record per case, in a folder that the executors of a run share.

    blobs/<sha256>             bytes of a storage, of a pickled argument tree, of generator states
    cases/<id>.json            StoredCase
    choices/<name>.json        configurations that an autotuner chose (tuned.py)

Everything is private to the user (0700, 0600) and written whole or not at all, so that a killed executor leaves no half case.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional

import torch

from kernelband_worker.errors import OperationFailed
from kernelband_worker.state import State

#: ``Case.role`` of one that only the store knows (hidden.py)
HIDDEN = "hidden"


@dataclass
class StorageRecord:
    """One storage of an argument tree. ``fit`` says how to draw a ``drawn`` one (see policy.py)."""

    digest: str
    bytes: int
    device: str
    fit: Optional[Dict[str, Any]] = None


@dataclass
class TreeRecord:
    """The arguments of one recorded call: a pickle whose tensors lie outside it, and what the call depended on besides."""

    tree: str
    storages: List[StorageRecord]
    rng: Optional[str] = None  # pickled generator states, when the call consumed them
    modes: Dict[str, Any] = field(default_factory=dict)  # grad, inference and autocast as they stood


@dataclass
class StoredCase:
    """A case as the executors share it: the wire's Case, its input sets, and how to reach the callable."""

    case: Dict[str, Any]
    sets: List[TreeRecord]
    mutated: List[int]  # numbers of the storages that the call wrote
    closure: bool = False  # the tree holds the cells of a nested function
    main: Optional[str] = None  # the module that ran as __main__


class Store:
    """Contents by hash and case records under one folder."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        for name in ("", "blobs", "cases", "choices"):
            path = self.folder / name
            path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, data: Any) -> str:
        """Keep ``data`` (bytes or a buffer of them); its SHA-256."""
        digest = hashlib.sha256(data).hexdigest()
        path = self.folder / "blobs" / digest
        if not path.exists():
            self._write(path, data)
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes of ``digest``.

        Raises:
            OperationFailed: the store doesn't hold it.
        """
        try:
            return (self.folder / "blobs" / digest).read_bytes()
        except FileNotFoundError:
            raise OperationFailed("A recorded input is gone from the store of this run: run the capture again.", "bad_request") from None

    def put_tensor(self, storage: torch.Tensor) -> str:
        """Keep a storage, given as a one-dimensional uint8 tensor on any device."""
        return self.put(storage.detach().cpu().contiguous().numpy().data)

    def get_tensor(self, digest: str, size: int) -> torch.Tensor:
        """A storage as a fresh uint8 tensor in CPU memory."""
        if size == 0:
            return torch.empty(0, dtype=torch.uint8)
        path = self.folder / "blobs" / digest
        if not path.exists():
            self.get(digest)
        return torch.from_file(str(path), shared=False, size=size, dtype=torch.uint8)

    def save(self, stored: StoredCase) -> None:
        """Write or replace the record of a case."""
        text = json.dumps(asdict(stored), sort_keys=True)
        self._write(self.folder / "cases" / f"{stored.case['id']}.json", text.encode())

    def load(self, case_id: str) -> StoredCase:
        """The record of a case.

        Raises:
            OperationFailed: no such case in this run.
        """
        path = self.folder / "cases" / f"{case_id}.json"
        if not path.exists():
            raise OperationFailed(f"Case {case_id} isn't in the store of this run: run the capture again.", "bad_request")
        data: Dict[str, Any] = json.loads(path.read_text())
        trees: List[Dict[str, Any]] = data.pop("sets")
        sets = [TreeRecord(t["tree"], [StorageRecord(**r) for r in t["storages"]], t["rng"], t["modes"]) for t in trees]
        return StoredCase(sets=sets, **data)

    def choices(self, name: str) -> Optional[Dict[str, Any]]:
        """Configurations that an autotuner chose, kept under that name; None where none are."""
        path = self.folder / "choices" / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def chosen(self, pattern: str) -> List[Dict[str, Any]]:
        """The choices kept under names that a pattern (as of ``glob``) covers, in the order of their names."""
        return [json.loads(path.read_text()) for path in sorted((self.folder / "choices").glob(f"{pattern}.json"))]

    def keep_choices(self, name: str, chosen: Dict[str, Any]) -> None:
        """Keep them for the other executors of the run."""
        self._write(self.folder / "choices" / f"{name}.json", json.dumps(chosen).encode())

    def ids(self) -> List[str]:
        """The cases of this run, sorted."""
        return sorted(p.stem for p in (self.folder / "cases").glob("*.json"))

    def forget(self, case_id: str) -> None:
        """Drop the record of a case; contents stay, others may share them."""
        (self.folder / "cases" / f"{case_id}.json").unlink()

    def _write(self, path: Path, data: Any) -> None:
        handle, name = tempfile.mkstemp(dir=self.folder)  # 0600
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)


def values_of(store: Store, record: StorageRecord, view: Dict[str, Any]) -> torch.Tensor:
    """The values that a view shows of a stored storage."""
    storage = store.get_tensor(record.digest, record.bytes).untyped_storage()
    empty = torch.empty(0, dtype=getattr(torch, view["dtype"]))
    return empty.set_(storage, view["offset"], tuple(view["shape"]), tuple(view["stride"]))


def open_store(state: State) -> Store:
    """The store that the session names.

    Raises:
        OperationFailed: no session is open, or it names no store.
    """
    folder = (state.session or {}).get("store")
    if not folder:
        raise OperationFailed("No session with a store is open in this executor.", "bad_request")
    return Store(folder)
