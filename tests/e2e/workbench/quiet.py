"""What makes a workbench of the tests quiet: its settings, extensions, movements and environment."""

from __future__ import annotations

import os
from typing import Any

#: Of the extensions that VS Code brings along those that a window of the tests shows something of, and git, which acts on what they edit:
#: a window looks at each when it starts, and the other eighty are other languages and other themes.
BUILT_IN = (
    *("configuration-editing", "git", "git-base", "ini", "ipynb", "json", "markdown-basics", "merge-conflict", "notebook-renderers"),
    *("python", "references-view", "search-result", "theme-defaults", "theme-modern-icons", "theme-seti"),
)
#: A movement is over at once: what turns while one waits would be drawn sixty times a second, by the processor.
STILL = """(() => {
  const still = new CSSStyleSheet();
  still.replaceSync('*, ::before, ::after { animation-duration: 1ms !important; animation-iteration-count: 1 !important; }');
  document.adoptedStyleSheets.push(still);
})()"""
#: Nothing that a person would close first, and nothing that asks a server elsewhere.
QUIET: dict[str, Any] = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.tips.enabled": False,
    "workbench.editor.useModal": "off",
    "workbench.enableExperiments": False,
    "workbench.reduceMotion": "on",  # without a GPU each picture of a movement is drawn by the processor
    "editor.smoothScrolling": False,
    "editor.quickSuggestions": "off",  # of words, which a slow machine shows late: Enter would take one
    "editor.wordBasedSuggestions": "off",
    "chat.disableAIFeatures": True,
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": False,
    "extensions.ignoreRecommendations": True,
    "git.openRepositoryInParentFolders": "never",
    "telemetry.telemetryLevel": "off",
    "editor.cursorBlinking": "solid",
    "editor.minimap.enabled": False,
    "files.autoSave": "off",  # as on the desktop; a browser's default is another
    "security.workspace.trust.untrustedFiles": "open",
}


def plain_environment() -> dict[str, str]:
    """A user's: no virtual environment of the tests, nothing of KernelBand's or of the editor that this may run in."""
    ours = ("XDG_", "KERNELBAND", "VIRTUAL_ENV", "CONDA", "VSCODE", "PYTHON", "PYTEST", "npm_")
    keep = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    keep["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {**keep, "OMP_NUM_THREADS": "1"}
