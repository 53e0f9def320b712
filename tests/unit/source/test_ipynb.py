"""Notebooks on disk: their program is read, and a change of it leaves every other byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelband.errors import SourceError
from kernelband.source import Workspace
from kernelband.source.ipynb import decode_file

NOTEBOOK = Path(__file__).parents[2] / "fixtures" / "notebooks" / "scale.ipynb"


def made(cells: list[dict[str, Any]], **top: Any) -> dict[str, Any]:
    return {"cells": cells, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5, **top}


def code(source: str | list[str], **more: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": 1,
        "id": "a",
        "metadata": {},
        "outputs": [{"text": ["source"]}],
        "source": source,
        **more,
    }


def test_the_program_is_the_code_cells_in_order() -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "x"},
        code(["a = 1\n", "%time a"]),
        code("ls", metadata={"vscode": {"languageId": "shellscript"}}),
        code("b = 2"),
        code([]),
    ]
    assert decode_file(json.dumps(made(cells)).encode(), "/n.ipynb")[0] == "a = 1\n#time a\nb = 2\n"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"x = 1", "can't be read as a Jupyter notebook"),
        (b'{"nbformat": 4, "cells": [', "can't be read as a Jupyter notebook"),
        (b'{"nbformat": 4 "cells": []}', "can't be read as a Jupyter notebook"),
        (b"\xff\xfe", "can't be read as a Jupyter notebook"),
        (b'{"nbformat": 4, "cells": [{"cell_type": "code"}]}', "can't be read as a Jupyter notebook"),
        (b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": 3}]}', "can't be read as a Jupyter notebook"),
        (b'{"nbformat": 4, "cells": [3]}', "can't be read as a Jupyter notebook"),
        (b"[" * 100_000, "can't be read as a Jupyter notebook"),
        (json.dumps(made([], nbformat=3)).encode(), "isn't a Jupyter notebook of format 4"),
        (json.dumps(made([code("#" * 4_000_000 + "\n")])).encode(), "has 4,000,001 bytes, more than the 4,000,000 "),
        (json.dumps(made([], metadata={"language_info": {"name": "julia"}})).encode(), "is a notebook of julia"),
    ],
    ids=range(11),
)
def test_what_is_no_notebook_is_said(raw: bytes, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        decode_file(raw, "/n.ipynb")


@pytest.mark.parametrize("form", [{"indent": 1}, {}, {"separators": (",", ":")}, {"indent": 2, "ensure_ascii": False}])
@given(
    st.lists(
        st.lists(st.text('ab=1%é😀"\\\n#', max_size=8), max_size=3).map(lambda s: "\n".join(s).splitlines(True)), min_size=1, max_size=4
    )
)
def test_a_changed_program_is_the_notebook_with_changed_sources(form: dict[str, Any], sources: list[list[str]]) -> None:
    raw = json.dumps(made([code(s) for s in sources]), **form).encode()
    text, encoding = decode_file(raw, "/n.ipynb")
    assert encoding.encode(text, "/n.ipynb") == raw
    try:
        new = encoding.encode(text + "#x\n", "/n.ipynb")
    except SourceError:  # a line of IPython's is the last
        return
    assert decode_file(new, "/n.ipynb")[0] == text + "#x\n"
    changed = made([*(code(s) for s in sources[:-1]), code(("".join(sources[-1]) + "#x\n").splitlines(True))])
    if len(sources[-1]) > 1 or ("indent" in form and sources[-1]):  # one line does not show how lines are set apart
        assert new == json.dumps(changed, **form).encode()
    assert json.loads(new) == changed


def test_one_number_in_a_saved_notebook() -> None:
    raw = NOTEBOOK.read_bytes()
    text, encoding = decode_file(raw, str(NOTEBOOK))
    new = encoding.encode(text.replace("BLOCK=64", "BLOCK=1024"), str(NOTEBOOK))
    assert new == raw.replace(b"BLOCK=64", b"BLOCK=1024") != raw


def test_a_notebook_is_a_module_beside_a_file_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    (tmp_path / "my demo.py").touch()
    (tmp_path / "other.py").write_text("x = 1\n")
    path = tmp_path / "my demo.ipynb"
    path.write_text(json.dumps(made([code("import other\n!ls")])))
    workspace = Workspace.for_file(str(path))
    assert workspace.read(str(path)) == "import other\n#ls"
    assert workspace.module_name(str(path)) == "my_demo_ipynb"
    found = workspace.find_module("my_demo_ipynb")
    assert found is not None
    assert found["path"] == str(path)
    assert workspace.blob(found["sha256"] or "") == b"import other\n#ls"
    assert {"my_demo_ipynb", "other"} <= set(workspace.top_level())
    assert workspace.find_module("other") is not None
    overlaid = Workspace.for_file(str(path), {str(path): "y = 1"})
    assert overlaid.read(str(path)) == "y = 1"
