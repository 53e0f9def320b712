"""What of a result goes to the process that compares: of a large one blocks, at places that nobody can know before it is there."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import List, Optional, Tuple

import torch

from kernelband_worker.cases.store import Store

WHOLE_BYTES = 8 << 20  # up to here all of it
BLOCKS = 256
BLOCK_BYTES = 16 << 10

Positions = Optional[List[Tuple[int, int]]]


def positions(elements: int, itemsize: int, seed: str) -> Positions:
    """Beginnings and ends of blocks in the flat result, in order and without overlaps, the first and the last block among them; None: all
    of it.
    """
    if elements * itemsize <= WHOLE_BYTES:
        return None
    block = BLOCK_BYTES // itemsize
    places = -(-elements // block)
    chosen = {0, places - 1}
    n = 0
    while len(chosen) < BLOCKS:
        chosen.add(int.from_bytes(hashlib.sha256(f"{seed}/{n}".encode()).digest()[:8], "big") % places)
        n += 1
    return [(i * block, min(elements, (i + 1) * block)) for i in sorted(chosen)]


def taken(tensor: torch.Tensor, where: Positions) -> torch.Tensor:
    """Those elements in the order of their indices, as bytes on the device."""
    flat = tensor.detach().reshape(-1)
    if where is not None:
        flat = torch.cat([flat[a:b] for a, b in where])
    return flat.contiguous().view(torch.uint8)


def give(store: Store, result: int, tensor: torch.Tensor, seed: str) -> None:
    """Leave the blocks of result number ``result`` in the run's folder."""
    path = _path(store, seed, result)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(taken(tensor, positions(tensor.numel(), tensor.dtype.itemsize, seed)).cpu().numpy().data)


def take(store: Store, result: int, like: torch.Tensor, seed: str) -> Tuple[torch.Tensor, torch.Tensor]:
    """What was left, and nothing stays: a result of the shape of ``like``, elsewhere equal to it, and the mask of that elsewhere."""
    path = _path(store, seed, result)
    where = positions(like.numel(), like.dtype.itemsize, seed)
    given = torch.frombuffer(bytearray(path.read_bytes()) or bytearray(like.dtype.itemsize), dtype=like.dtype).to(like.device)
    path.unlink()
    unseen = torch.zeros(like.numel(), dtype=torch.bool, device=like.device)
    if where is None:
        return given[: like.numel()].reshape(like.shape), unseen.reshape(like.shape)
    whole, at = like.contiguous().clone().reshape(-1), 0
    unseen.fill_(True)
    for begin, end in where:
        whole[begin:end] = given[at : at + end - begin]
        unseen[begin:end] = False
        at += end - begin
    return whole.reshape(like.shape), unseen.reshape(like.shape)


def _path(store: Store, seed: str, result: int) -> Path:
    return store.folder / "results" / f"{int(seed, 16):032x}-{result}"
