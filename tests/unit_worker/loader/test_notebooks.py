"""A notebook's program as a module: its path holds JSON, and nothing of that may be read for its source."""

from __future__ import annotations

import inspect
import linecache
import traceback

import pytest

from kernelband_worker.errors import OperationFailed
from kernelband_worker.loader import Loader
from kernelband_worker.sources import real_path
from tests.unit_worker.served import Served

TEXT = "#matplotlib inline\nimport beside\n\ndef host(x):\n    return x / beside.ZERO\n"
ID = "5678abcd" + "0" * 56


class Notebook(Served):
    """``nb.ipynb`` as ``nb_ipynb``, beside other modules."""

    def find(self, name):
        if name != "nb_ipynb":
            return super().find(name)
        return {"name": name, "path": self.path("nb.ipynb"), "package": False, "sha256": self.put(TEXT)}

    @property
    def top_level(self):
        return [*super().top_level, "nb_ipynb"]


@pytest.fixture
def served(tmp_path):
    (tmp_path / "nb.ipynb").write_text('{"cells": [],\n "nbformat": 4,\n "metadata": {},\n\n "nbformat_minor": 5}\n')
    served = Notebook({"beside.py": "ZERO = 0\n"}, str(tmp_path))
    served.loader = Loader(served.ask, served.session())
    served.loader.install()
    yield served
    served.loader.uninstall()


@pytest.mark.parametrize("variant", [None, ID])
def test_source_and_traceback_are_the_programs(served, variant):
    edited = TEXT.replace("x / ", "2 * x / ")
    served.loader.register(served.variant(ID, nb_ipynb=edited))
    function = served.function("nb_ipynb", "host")
    host = served.loader.resolve(variant, function)
    text = TEXT if variant is None else edited
    assert inspect.getsource(host) == text[text.index("def") :]
    assert host.__globals__["__file__"] == served.path("nb.ipynb")
    assert (host.__module__, host.__globals__["__name__"]) == ("nb_ipynb", "nb_ipynb")
    with pytest.raises(ZeroDivisionError) as raised:
        host(1)
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert (real_path(last.filename), last.lineno, last.line) == (served.path("nb.ipynb"), 5, text.splitlines()[4].strip())
    linecache.checkcache()  # the disk has another text under that name
    assert linecache.getline(host.__code__.co_filename, 4) == "def host(x):\n"


def test_as_a_script_from_top_to_bottom(served):
    ran = served.loader.run_main("nb_ipynb")
    assert ran.__name__ == "__main__"
    assert ran.__file__ == served.path("nb.ipynb")


def test_what_fails_is_said_with_the_notebooks_path(served):
    served.files["beside.py"] = "1 / 0\n"
    with pytest.raises(OperationFailed, match=r"Importing nb_ipynb fails \(.*beside\.py, line 1\)"):
        served.loader.original("nb_ipynb")
