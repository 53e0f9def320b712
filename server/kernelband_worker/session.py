"""Operations session/open, variant/load and import: make an executor able to import the user's code and its variants."""

from __future__ import annotations

import os
from typing import Any, Dict

from kernelband_worker.compiler.settings import settle
from kernelband_worker.environment import require
from kernelband_worker.errors import OperationFailed
from kernelband_worker.state import State
from kernelband_worker.wire import ImportParams, SessionParams, VariantFiles


def open_session(state: State, params: SessionParams) -> Dict[str, Any]:
    """Install loader and, without a GPU, the target's stand-in. Once per executor.

    Raises:
        OperationFailed: torch or Triton is missing or too old; a session is open already.
    """
    if state.session is not None:
        raise OperationFailed("A session is open in this executor already.", "bad_request")
    cache = params.get("cache")
    if cache:
        os.environ["TRITON_CACHE_DIR"] = cache  # Triton reads it at every compile
    settle(os.environ)
    require()
    if cache:
        from kernelband_worker.triton_versions import know_installation_by_its_library

        know_installation_by_its_library()
    target = params.get("target")
    if state.role != "gpu":
        if target is None:
            raise OperationFailed(f"A session of role {state.role} needs a target.", "bad_request")
        # Before any import of the user's: modules ask for devices as they are loaded. Compile executors run host functions too, with their
        # launches suppressed, to learn the specialisations: beside a GPU that is being measured on, that must not touch it.
        from kernelband_worker.cpu import device

        device.install(target, params.get("device_properties") or {}, params.get("device_name", ""))
    from kernelband_worker.loader import Loader

    loader = Loader(state.ask, params)
    if state.role != "gpu":
        from kernelband_worker.cpu.machine import machine_of

        # A compile executor's launches are suppressed: nothing is computed that could be asserted.
        loader.passed_over = lambda: state.role == "compile" or machine_of(state).sampled
    loader.install()
    state.session, state.loader = params, loader
    return {}


def load_variant(state: State, params: VariantFiles) -> Dict[str, Any]:
    """Make a variant's files known; they are imported when first used.

    Raises:
        OperationFailed: no session is open.
    """
    state.opened.register(params)
    return {}


def import_modules(state: State, params: ImportParams) -> Dict[str, Any]:
    """Import the originals of modules, so long as nobody waits for them.

    Raises:
        OperationFailed: no session is open, or importing one fails.
    """
    for module in params["modules"]:
        state.opened.original(module)
    return {}
