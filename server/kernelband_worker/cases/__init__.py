"""Cases: record how the user's program calls a kernel, keep that in a store, replay it in any fresh executor of the run."""
