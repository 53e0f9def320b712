"""What a launch gives back where nothing runs on a device."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Protocol, Tuple

from triton.runtime.jit import JITFunction

from kernelband_worker import triton_versions


class Observing(Protocol):
    """A block that is observed."""

    @property
    def launching(self) -> bool:
        """Whether launches reach a device."""
        ...

    def launch_specialised(self, kept: Specialised, arguments: Dict[str, Any], options: Dict[str, Any], grid: Any) -> None:
        """A launch of what an earlier one, or ``warmup``, gave back."""
        ...


#: Where what a launch gave back holds the configuration that a tuner chose for it.
CONFIG = "kernelband_config"
#: The blocks that are observed, innermost last.
ACTIVE: List[Observing] = []


class Specialised:
    """What a launch or ``warmup`` gives back where nothing is launched on a device: a launch is an event, and it is compiled only when
    asked for what the compiler knows (``n_regs``, ``metadata.shared`` ..., from which a program makes its grid).

    A program may keep it: what it does later is up to the block that is observed then.
    """

    def __init__(self, kernel: JITFunction[Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        self.kb_kernel = kernel
        self._kb_made = (tuple(map(triton_versions.pointer, args)), {name: triton_versions.pointer(v) for name, v in kwargs.items()})
        self._kb_real: Any = None

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        if not ACTIVE or ACTIVE[-1].launching:
            runner: Callable[..., None] = self._kb_compiled()[grid]
            return runner
        watch = ACTIVE[-1]

        def launch(*args: Any, stream: Any = None) -> None:  # noqa: ARG001 - CompiledKernel's signature
            kernel = self.kb_kernel
            warmed_args, warmed_kwargs = self._kb_made
            warmed = triton_versions.bind(kernel, warmed_args, warmed_kwargs)
            names = list(kernel.arg_names)
            constant = {parameter.name for parameter in kernel.params if parameter.is_constexpr}
            passed = names if len(args) >= len(names) else [name for name in names if name not in constant]
            arguments = {**warmed, **dict(zip(passed, args))}
            options = {name: value for name, value in warmed_kwargs.items() if name not in names}
            watch.launch_specialised(self, arguments, options, grid)

        return launch

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        real = self._kb_compiled()
        if name in ("n_regs", "n_spills", "n_max_threads", "function", "module"):
            real._init_handles()  # as a program on a GPU has done before it reads them
        return getattr(real, name)

    def _kb_compiled(self) -> Any:
        """What ``warmup`` really gives: compiled for the target."""
        if self._kb_real is None:
            args, kwargs = self._kb_made
            run = getattr(JITFunction.run, "kernelband_original", JITFunction.run)
            self._kb_real = run(self.kb_kernel, *args, grid=(1, 1, 1), warmup=True, **kwargs)
        return self._kb_real
