"""The client side of the worker: start it here or far away, call it with deadlines, lose it without losing the run."""

from kernelband.worker.client import FileServer, Worker
from kernelband.worker.command import WorkerCommand
from kernelband.worker.executor import Executor
from kernelband.worker.pool import NOW, CompilePool

__all__ = ["NOW", "CompilePool", "Executor", "FileServer", "Worker", "WorkerCommand"]
