from __future__ import annotations

import inspect
import sys
from types import SimpleNamespace

import pytest

from kernelband_worker.errors import OperationFailed
from kernelband_worker.session import import_modules
from kernelband_worker.sources import real_path


def test_a_package_with_relative_imports(load):
    served, loader = load(
        {
            "pkg_a/__init__.py": "from .ops import double\n",
            "pkg_a/ops.py": "from . import numbers_\nfrom .numbers_ import TWO\ndef double(x):\n    return numbers_.TWO * x\n",
            "pkg_a/numbers_.py": "TWO = 2\n",
        }
    )
    package = loader.original("pkg_a")
    assert package.double(4) == 8
    ops = sys.modules["pkg_a.ops"]
    assert ops.__file__ == served.path("pkg_a/ops.py")
    assert ops.__package__ == "pkg_a"
    assert ops.__spec__.parent == "pkg_a"
    assert package.__path__ == [served.path("pkg_a")]
    assert inspect.getsource(package.double) == "def double(x):\n    return numbers_.TWO * x\n"


def test_other_names_are_not_asked_for(load):
    served, loader = load(
        {"alone_a.py": "import json\ntry:\n    import nor_is_this_a\nexcept ImportError:\n    import this_is_not_there_a\n"}
    )
    with pytest.raises(OperationFailed) as failed:
        loader.original("alone_a")
    assert failed.value.kind == "import_failed"
    assert "this_is_not_there_a" in failed.value.message
    assert failed.value.data["line"] == 5
    assert sorted(served.asked) == ["*", "alone_a"]  # once, which ones there are by now


def test_what_lies_beside_an_entry_is_there_although_the_session_began_before(load):
    served, loader = load({"run_m.py": "import pstats, parts_m.one\nfrom sizes_m import SIZES\nTWO = SIZES + parts_m.one.ONE\n"})
    served.files.update({"sizes_m.py": "SIZES = 1\n", "parts_m/one.py": "ONE = 1\n", "pstats.py": "raise AssertionError"})
    assert loader.original("run_m").TWO == 2
    loader.register(served.variant("beside", sizes_m="SIZES = 5\n"))
    assert loader.variant("beside", "run_m").TWO == 6


def test_a_script_folder_imports_its_neighbours(load):
    _, loader = load(
        {
            "bench_b.py": "from kernels_b import K\nimport helpers_b as h\nR = K + h.H\n",
            "kernels_b.py": "K = 1\n",
            "helpers_b.py": "H = 2\n",
        }
    )
    assert loader.original("bench_b").R == 3


def test_crlf_form_feed_bom_and_separators_keep_lines(load):
    text = "\ufeff# \u2028 \x0c\r\n\x0c\r\ndef f():\r\n    'é\U0001d11e'\r\n    return 1\r\n"
    _, loader = load({"odd_c.py": text})
    f = loader.original("odd_c").f
    assert inspect.getsource(f) == "def f():\n    'é\U0001d11e'\n    return 1\n"
    assert f.__code__.co_firstlineno == 3


def test_the_coding_line_of_the_file_does_not_matter(load):
    _, loader = load({"latin_d.py": "# -*- coding: latin-1 -*-\nNAME = 'é'\n"})
    assert loader.original("latin_d").NAME == "é"


def test_a_syntax_error_names_file_and_line(load):
    served, loader = load({"broken_e.py": "x = 1\ndef f(:\n    pass\n"})
    with pytest.raises(OperationFailed) as failed:
        loader.original("broken_e")
    assert failed.value.data["path"] == served.path("broken_e.py")
    assert failed.value.data["line"] == 2


@pytest.mark.parametrize(
    "ending", ["raise SystemExit(3)", "import sys; sys.exit('no data')", "raise KeyError('weights')", "assert False, 'no GPU'"]
)
def test_a_module_that_ends_badly_is_told_in_a_sentence(load, ending):
    served, loader = load({"ends_f.py": f"x = 1\n{ending}\n"})
    with pytest.raises(OperationFailed) as failed:
        loader.original("ends_f")
    assert failed.value.kind == "import_failed"
    assert failed.value.data["line"] == 2
    assert served.path("ends_f.py") in failed.value.message


def test_a_namespace_package_of_the_workspace(load):
    _, loader = load({"space_g/inner.py": "from .other import X\n", "space_g/other.py": "X = 5\n", "space_g/deep/most.py": "Y = 6\n"})
    assert loader.original("space_g.inner").X == 5
    assert loader.original("space_g.deep.most").Y == 6


def test_an_installed_regular_package_wins_over_a_folder(load, tmp_path, monkeypatch):
    (tmp_path / "both_h").mkdir()
    (tmp_path / "both_h" / "__init__.py").write_text("WHERE = 'installed'\n")
    (tmp_path / "both_h" / "part.py").write_text("WHERE = 'installed'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    _, loader = load({"both_h/part.py": "WHERE = 'workspace'\n", "uses_h.py": "from both_h import part, WHERE\n"})
    module = loader.original("uses_h")
    assert (module.WHERE, module.part.WHERE) == ("installed", "installed")


def test_a_namespace_shared_with_an_installed_part(load, tmp_path, monkeypatch):
    (tmp_path / "shared_i").mkdir()
    (tmp_path / "shared_i" / "theirs.py").write_text("T = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    _, loader = load({"shared_i/ours.py": "from shared_i.theirs import T\nO = T + 1\n"})
    assert loader.original("shared_i.ours").O == 2


def test_a_stale_file_on_the_disk_is_not_read(load, tmp_path):
    (tmp_path / "pkg_j").mkdir()
    (tmp_path / "pkg_j" / "__init__.py").write_text("")
    (tmp_path / "pkg_j" / "gone.py").write_text("raise AssertionError('read from the disk')\n")
    served, loader = load(
        {"pkg_j/__init__.py": "", "pkg_j/uses.py": "try:\n    from . import gone\nexcept ImportError:\n    gone = None\n"}
    )
    served.root = str(tmp_path)
    assert loader.original("pkg_j.uses").gone is None


def test_nothing_is_written_beside_the_sources(load, tmp_path):
    (tmp_path / "pkg_k").mkdir()
    served, loader = load({"pkg_k/__init__.py": "from . import m\n", "pkg_k/m.py": "X = 1\n"})
    served.root = str(tmp_path)
    assert loader.original("pkg_k").m.X == 1
    assert list((tmp_path / "pkg_k").iterdir()) == []


def test_a_blob_that_does_not_fit_its_hash_is_refused(load):
    served, loader = load({"hash_l.py": "X = 1\n"})
    served.blobs[served.put("X = 1\n")] = b"X = 2\n"
    served.put = lambda text: __import__("hashlib").sha256(text.encode()).hexdigest()
    with pytest.raises(OperationFailed, match="hash"):
        loader.original("hash_l")


def test_run_main_is_main(load):
    _, loader = load(
        {"script_m.py": "from helper_m import H\nNAME = __name__\nif __name__ == '__main__':\n    RAN = H\n", "helper_m.py": "H = 7\n"}
    )
    before = sys.modules["__main__"]
    module = loader.run_main("script_m")
    assert (module.NAME, module.RAN) == ("__main__", 7)
    assert sys.modules["__main__"] is before


def test_real_path_takes_the_mark_off():
    assert real_path("/a/b#kb-/c.py#kb-12345678") == "/a/b#kb-/c.py"
    assert real_path("/a/b.py") == "/a/b.py"


def test_importlib_find_spec_answers_none_for_what_is_not_there(load):
    _, loader = load({"pkg_n/__init__.py": "import importlib.util\nHAS = importlib.util.find_spec('pkg_n.nothing') is not None\n"})
    assert loader.original("pkg_n").HAS is False


def test_modules_are_imported_ahead(load):
    _, loader = load({"ahead_a/__init__.py": "", "ahead_a/k.py": "X = 1\n", "ahead_a/no.py": "import nothing_of_that_name\n"})
    state = SimpleNamespace(opened=loader)
    assert import_modules(state, {"modules": ["ahead_a.k"]}) == {}
    assert sys.modules["ahead_a.k"].X == 1
    with pytest.raises(OperationFailed, match="nothing_of_that_name"):
        import_modules(state, {"modules": ["ahead_a.no"]})
