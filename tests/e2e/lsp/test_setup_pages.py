"""The lines that docs/editors.md gives for an editor make it speak with the server: they are run as they stand."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cli_world import Home
from tests.e2e.lsp.test_emacs import has_eglot

PAGE = Path(__file__).parents[3] / "docs" / "editors.md"

#: What a person would do next, and what it shows, as JSON.
LUA = """
vim.api.nvim_create_autocmd("VimEnter", { callback = function()
  local shown = {}
  vim.wait(150000, function()
    local answers = vim.lsp.buf_request_sync(0, "textDocument/codeLens", { textDocument = vim.lsp.util.make_text_document_params(0) }, 5000)
    for _, answer in pairs(answers or {}) do
      for _, lens in ipairs(answer.result or {}) do table.insert(shown, lens.command.title) end
    end
    return #shown > 0
  end, 200)
  local file = assert(io.open(vim.env.SEEN, "w"))
  file:write(vim.fn.json_encode(shown))
  file:close()
  vim.cmd("qall!")
end })
"""
ELISP = """
(require 'json)
(setq eglot-sync-connect 120 eglot-connect-timeout 120 jsonrpc-default-request-timeout 120)
(find-file (getenv "FILE"))
(apply #'eglot (eglot--guess-contact))
(search-forward "def scale_kernel")
(let (titles)
  (while (not titles)
    (setq titles (mapcar (lambda (a) (plist-get a :title)) (eglot-code-actions (point) (point))))
    (accept-process-output nil 0.2))
  (with-temp-file (getenv "SEEN") (insert (json-encode (vconcat titles)))))
"""


def lines_of(language: str) -> str:
    """The page's block in that language."""
    found = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(found) == 1
    return found[0]


def shown(command: list[str], home: Home, seen: Path) -> list[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{home.environment['PATH']}"  # where kernelband is
    environment = {**home.environment, "PATH": path, "SEEN": str(seen), "FILE": str(home.file)}
    done = subprocess.run(
        command, env=environment, cwd=home.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=500, check=False
    )
    assert seen.exists(), done.stderr
    return json.loads(seen.read_text())


@pytest.mark.skipif(shutil.which("nvim") is None, reason="there is no Neovim here, and only root can install it")
def test_neovim(home: Home, tmp_path: Path) -> None:
    init = tmp_path / "init.lua"
    init.write_text(lines_of("lua") + LUA)
    assert shown(["nvim", "--headless", "-u", str(init), "-i", "NONE", "-n", str(home.file)], home, tmp_path / "seen.json") == ["Optimize"]


@pytest.mark.skipif(not has_eglot(), reason="there is no Emacs with eglot here, and only root can install it")
def test_emacs(home: Home, tmp_path: Path) -> None:
    init = tmp_path / "init.el"
    init.write_text("(require 'package)\n(package-initialize)\n" + lines_of("elisp") + ELISP)
    assert "Optimize scale_kernel" in shown(["emacs", "--batch", "-l", str(init)], home, tmp_path / "seen.json")
