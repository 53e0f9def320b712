"""What a variant is worth, in words for a line: a ratio only where it was verified, a tier with the word predicted."""

from __future__ import annotations

from kernelband.lsp.run_finding import VariantFinding


def title(device: str, v: VariantFinding) -> str:
    """A variant in one line: what it changes of the original, then what that is worth and on what."""
    if v.ratio is not None and v.low is not None and v.high is not None:
        cases = f"{v.cases} case{'s' if v.cases != 1 else ''}"
        return f"{v.title}: {v.ratio:.2f}× ({v.low:.2f} to {v.high:.2f}) on {device}, {cases}"
    return f"{v.title}: {v.tier} on {device} (predicted)" if v.tier else f"{v.title}: not verified"


def worth(device: str, v: VariantFinding) -> str:
    """The same in a few words."""
    if v.ratio is not None:
        return f"{v.ratio:.2f}× on {short(device)}"
    return f"{v.tier} on {short(device)} (predicted)" if v.tier else "not verified"


def short(device: str) -> str:
    """The GPU's short name: H200, not NVIDIA H200 SXM."""
    return device.removeprefix("NVIDIA ").removeprefix("AMD ").partition(" ")[0] or device
