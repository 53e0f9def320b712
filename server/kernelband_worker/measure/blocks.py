"""What of a result goes to the process that compares: of a large one blocks, at places that nobody can know before it is there."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import List, Optional, Tuple

import torch

from kernelband_worker.cases.store import Store

WHOLE_BYTES = 8 << 20  # up to here all of it
BLOCKS = 256
BLOCK_BYTES = 16 << 10  # of any type whole elements


def positions(size: int, seed: str) -> Optional[List[int]]:
    """Numbers of blocks among the ``size`` bytes of a flat result, in order, the first and the last among them; None: all of it."""
    if size <= WHOLE_BYTES:
        return None
    places = -(-size // BLOCK_BYTES)
    chosen = {0, places - 1}
    n = 0
    while len(chosen) < BLOCKS:
        chosen.add(int.from_bytes(hashlib.sha256(f"{seed}/{n}".encode()).digest()[:8], "big") % places)
        n += 1
    return sorted(chosen)


def taken(tensor: torch.Tensor, where: Optional[List[int]]) -> torch.Tensor:
    """Those blocks in the order of their places, as bytes on the device."""
    flat = _bytes(tensor.detach())
    if where is None:
        return flat
    rows, whole, end = _blocks(flat, where)
    return torch.cat([rows[whole].reshape(-1), end])


def give(store: Store, result: int, tensor: torch.Tensor, seed: str) -> None:
    """Leave the blocks of result number ``result`` in the run's folder."""
    path = _path(store, seed, result)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    size = tensor.numel() * tensor.dtype.itemsize
    path.write_bytes(taken(tensor, positions(size, seed)).cpu().numpy().data)


def take(store: Store, result: int, like: torch.Tensor, seed: str) -> Tuple[torch.Tensor, torch.Tensor]:
    """What was left, and nothing stays: a result of the shape of ``like``, elsewhere equal to it, and the mask of that elsewhere."""
    path = _path(store, seed, result)
    itemsize = like.dtype.itemsize
    where = positions(like.numel() * itemsize, seed)
    given = torch.frombuffer(bytearray(path.read_bytes()) or bytearray(itemsize), dtype=torch.uint8).to(like.device)
    path.unlink()
    unseen = torch.zeros(like.numel(), dtype=torch.bool, device=like.device)
    if where is None:
        return given[: like.numel() * itemsize].view(like.dtype).reshape(like.shape), unseen.reshape(like.shape)
    flat = _bytes(like).clone()
    rows, whole, end = _blocks(flat, where)
    cut = given.numel() - end.numel()
    rows[whole] = given[:cut].view(-1, BLOCK_BYTES)
    end.copy_(given[cut:])
    unseen.fill_(True)
    marks, _, rest = _blocks(unseen, where, BLOCK_BYTES // itemsize)
    marks[whole] = False
    rest.fill_(False)
    return flat.view(like.dtype).reshape(like.shape), unseen.reshape(like.shape)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1).contiguous().view(torch.uint8)


def _blocks(flat: torch.Tensor, where: List[int], block: int = BLOCK_BYTES) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The whole blocks as rows, which of them are meant, and what is left at the end, as views; the end is always meant."""
    count = flat.numel() // block
    whole = torch.tensor([n for n in where if n < count], device=flat.device)
    return flat[: count * block].view(count, block), whole, flat[count * block :]


def _path(store: Store, seed: str, result: int) -> Path:
    return store.folder / "results" / f"{int(seed, 16):032x}-{result}"
