"""KernelBand: verified, measured, explained faster versions of a Triton kernel."""

__version__ = "0.1.0"
