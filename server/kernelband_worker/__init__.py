"""The half of KernelBand that runs in the user's Python: stdlib, torch, triton and numpy only, Python >= 3.9."""
