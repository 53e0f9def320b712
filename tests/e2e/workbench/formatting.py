"""An extension that formats Python in its own way, as ruff's and black's do."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

FORMATTED = (
    ("](x, y, n, BLOCK=512)", "](\n        x, y, n, BLOCK=512\n    )"),
    ("return x+1", "return x + 1"),
)
FORMATTER = """const vscode = require('vscode');
exports.activate = () => vscode.languages.registerDocumentFormattingEditProvider('python', {
  provideDocumentFormattingEdits(document) {
    const text = document.getText();
    const better = EDITS.reduce((now, [from, to]) => now.replace(from, to), text);
    return [vscode.TextEdit.replace(new vscode.Range(document.positionAt(0), document.positionAt(text.length)), better)];
  },
});
"""


def formatter(folder: Path) -> Path:
    """Make its .vsix in that folder."""
    manifest = {
        "name": "formatter",
        "publisher": "test",
        "version": "0.0.1",
        "engines": {"vscode": "^1.91.0"},
        "main": "./main.js",
        "activationEvents": ["onLanguage:python"],
    }
    identity = '<Identity Language="en-US" Id="formatter" Version="0.0.1" Publisher="test" />'
    schema = "http://schemas.microsoft.com/developer/vsx-schema/2011"
    vsix = folder / "formatter.vsix"
    with zipfile.ZipFile(vsix, "w") as made:
        made.writestr("extension/package.json", json.dumps(manifest))
        made.writestr("extension/main.js", FORMATTER.replace("EDITS", json.dumps(FORMATTED)))
        made.writestr(
            "extension.vsixmanifest",
            f'<?xml version="1.0" encoding="utf-8"?><PackageManifest Version="2.0.0" xmlns="{schema}"><Metadata>{identity}'
            '<DisplayName>formatter</DisplayName></Metadata><Installation><InstallationTarget Id="Microsoft.VisualStudio.Code" />'
            '</Installation><Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true" />'
            "</Assets></PackageManifest>",
        )
    return vsix
