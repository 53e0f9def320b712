"""A workspace served from memory, as the engine serves it: what Loader asks for."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

ROOT = "/no/such/folder"


class Served:
    """``files`` maps paths below a folder that doesn't exist to texts. Counts what is asked."""

    def __init__(self, files: dict[str, str], root: str = ROOT) -> None:
        self.root = root
        self.files = dict(files)
        self.blobs: dict[str, bytes] = {}
        self.asked: list[str] = []

    def path(self, relative: str) -> str:
        return f"{self.root}/{relative}"

    def put(self, text: str) -> str:
        raw = text.encode("utf-8", "surrogatepass")
        sha256 = hashlib.sha256(raw).hexdigest()
        self.blobs[sha256] = raw
        return sha256

    @property
    def top_level(self) -> list[str]:
        return sorted({path.split("/")[0].replace(".py", "") for path in self.files})

    def find(self, name: str) -> dict[str, Any] | None:
        base = name.replace(".", "/")
        for relative, package in ((f"{base}/__init__.py", True), (f"{base}.py", False)):
            if relative in self.files:
                return {"name": name, "path": self.path(relative), "package": package, "sha256": self.put(self.files[relative])}
        if any(path.startswith(f"{base}/") for path in self.files):
            return {"name": name, "path": self.path(base), "package": True, "sha256": None}
        return None

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        if method == "module/find":
            self.asked.append(params["name"])
            return self.find(params["name"])
        if method == "module/names":
            self.asked.append("*")
            return {"names": self.top_level}
        assert method == "blob/get"
        return {"base64": base64.b64encode(self.blobs[params["sha256"]]).decode()}

    def session(self, **more: Any) -> dict[str, Any]:
        return {"id": "s", "top_level": self.top_level, "seed": 0, **more}

    def variant(self, name: str, **texts: str) -> dict[str, Any]:
        """VariantFiles: texts by module name, dots as two underscores."""
        files = []
        for key, text in texts.items():
            module = key.replace("__", ".")
            found = self.find(module)
            assert found is not None, module
            files.append({"module": module, "path": found["path"], "sha256": self.put(text)})
        return {"id": name, "files": files}

    def function(self, module: str, qualname: str) -> dict[str, str]:
        found = self.find(module)
        assert found is not None
        return {"module": module, "path": found["path"], "qualname": qualname}
