"""The target without a GPU: the program runs on CPU tensors that say they are on the device, kernels are interpreted."""
