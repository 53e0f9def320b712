from __future__ import annotations

import inspect
import sys

import pytest

from kernelband_worker.errors import OperationFailed

ID = "1234abcd" + "0" * 56

PACKAGE = {
    "vp/__init__.py": "",
    "vp/kernels.py": "STATE = []\ndef k():\n    STATE.append(1)\n    return 'original', len(STATE)\n",
    "vp/plain.py": "VALUE = object()\n",
}

#: Ways to reach ``vp.kernels.k`` from an unedited module.
IMPORTERS = {
    "from_relative": "from .kernels import k\ndef host():\n    return k()\n",
    "from_package": "from vp import kernels\ndef host():\n    return kernels.k()\n",
    "from_dot": "from . import kernels as q\ndef host():\n    return q.k()\n",
    "dotted_as": "import vp.kernels as K\ndef host():\n    return K.k()\n",
    "dotted": "import vp.kernels\ndef host():\n    return vp.kernels.k()\n",
    "star": "from .kernels import *\ndef host():\n    return k()\n",
    "inside": "def host():\n    from vp.kernels import k\n    return k()\n",
    "guarded": "try:\n    from vp.kernels import k as run\nexcept ImportError:\n    run = None\ndef host():\n    return run()\n",
    "chain": "import vp\nfrom vp import plain\nimport vp.other\ndef host():\n    return vp.kernels.k()\n",
}


@pytest.mark.parametrize("way", sorted(IMPORTERS))
def test_an_edited_kernel_reaches_its_unedited_launcher(load, way):
    served, loader = load({**PACKAGE, "vp/other.py": "from . import kernels\n", "vp/launcher.py": IMPORTERS[way]})
    loader.register(served.variant(ID, vp__kernels=PACKAGE["vp/kernels.py"].replace("original", "variant")))
    function = served.function("vp.launcher", "host")
    original, variant = loader.resolve(None, function), loader.resolve(ID, function)
    assert original() == ("original", 1)
    assert original() == ("original", 2)
    assert variant() == ("variant", 1)  # with a state of its own
    assert original() == ("original", 3)
    assert variant() == ("variant", 2)
    assert sys.modules["vp.kernels"].k() == ("original", 4)
    assert variant.__module__ == "vp.launcher"


def test_an_init_that_re_exports_is_loaded_again(load):
    served, loader = load(
        {
            **PACKAGE,
            "vp/__init__.py": "from .kernels import k\nfrom .plain import VALUE\n",
            "use_b.py": "from vp import k, VALUE\nimport vp\ndef host():\n    return k(), vp.k(), VALUE\n",
        }
    )
    loader.register(served.variant(ID, vp__kernels="def k():\n    return 'variant'\n"))
    function = served.function("use_b", "host")
    assert loader.resolve(ID, function)()[:2] == ("variant", "variant")
    # What the edit doesn't reach is one and the same.
    assert loader.resolve(ID, function)()[2] is loader.resolve(None, function)()[2]


def test_a_function_that_is_called_as_its_module_stays_the_function(load):
    served, loader = load(
        {
            "vp/__init__.py": "from vp.kernels import k\n",
            "vp/kernels.py": "from vp.tools import entry\n@entry\ndef k():\n    return 'original'\n",
            "vp/tools/__init__.py": "from vp.tools.entry import entry\n",
            "vp/tools/entry.py": "import vp\ndef entry(f):\n    return lambda: ('entered', f())\n",
        }
    )
    text = "from vp.tools import entry\n@entry\ndef k():\n    return 'variant'\n"
    loader.register(served.variant(ID, vp__kernels=text))
    assert loader.resolve(None, served.function("vp", "k"))() == ("entered", "original")
    assert loader.resolve(ID, served.function("vp", "k"))() == ("entered", "variant")


def test_a_module_that_the_edit_does_not_reach_is_the_original(load):
    served, loader = load({**PACKAGE, "vp/far.py": "from .plain import VALUE\n"})
    loader.register(served.variant(ID, vp__kernels="def k(): pass\n"))
    assert loader.variant(ID, "vp.far") is loader.original("vp.far")


def test_star_import_of_a_package_that_is_only_passed_through(load):
    served, loader = load(
        {
            **PACKAGE,
            "vp/__init__.py": "__version__ = '1'\nLIMIT = 9\n",
            "vp/launcher.py": "from vp import *\nfrom vp import kernels, LIMIT as L\ndef host():\n    return kernels.k()[0], LIMIT, L\n",
        }
    )
    loader.register(served.variant(ID, vp__kernels=PACKAGE["vp/kernels.py"].replace("original", "variant")))
    assert loader.resolve(ID, served.function("vp.launcher", "host"))() == ("variant", 9, 9)


@pytest.mark.parametrize("edited", ["kernels", "common"])
@pytest.mark.parametrize(
    "bound",
    [
        "import importlib\nglobals()['kernels'] = importlib.import_module('.kernels', __name__)\n",
        "import importlib\ndef __getattr__(name):\n    return importlib.import_module('.' + name, __name__)\n",
    ],
    ids=["at once", "when asked for"],
)
def test_a_package_that_binds_its_modules_itself(load, bound, edited):
    texts = {
        "vp/__init__.py": bound,
        "vp/common.py": "def c():\n    return 'original'\n",
        "vp/kernels.py": "from .common import c\ndef k():\n    return c(), 'original'\n",
        "vp/launcher.py": "from vp import kernels\ndef host():\n    return kernels.k()\n",
    }
    served, loader = load(texts)
    loader.register(served.variant(ID, **{f"vp__{edited}": texts[f"vp/{edited}.py"].replace("original", "variant")}))
    host = served.function("vp.launcher", "host")
    assert loader.resolve(ID, host)() == (("original", "variant") if edited == "kernels" else ("variant", "original"))
    assert loader.resolve(None, host)() == ("original", "original")


def test_two_edited_files_and_a_circle(load):
    served, loader = load(
        {
            "circle_a.py": "import circle_b\nA = 'a'\ndef host():\n    return A + circle_b.B\n",
            "circle_b.py": "import circle_a\nB = 'b'\ndef back():\n    return circle_a.A\n",
        }
    )
    loader.register(
        served.variant(
            ID,
            circle_a="import circle_b\nA = 'A'\ndef host():\n    return A + circle_b.B + circle_b.back()\n",
            circle_b="import circle_a\nB = 'B'\ndef back():\n    return circle_a.A\n",
        )
    )
    assert loader.resolve(ID, served.function("circle_a", "host"))() == "ABA"
    assert loader.resolve(None, served.function("circle_a", "host"))() == "ab"


def test_source_of_original_and_variant_side_by_side(load):
    served, loader = load({"side_a.py": "def f():\n    return 1\n"})
    loader.register(served.variant(ID, side_a="# moved\ndef f():\n    return 2\n"))
    function = served.function("side_a", "f")
    original, variant = loader.resolve(None, function), loader.resolve(ID, function)
    assert inspect.getsource(original) == "def f():\n    return 1\n"
    assert inspect.getsource(variant) == "def f():\n    return 2\n"
    module = loader.variant(ID, "side_a")
    assert (module.__name__, module.__file__, module.__package__) == ("side_a", served.path("side_a.py"), "")
    assert sys.modules["side_a__kb_1234abcd"] is module
    assert loader.place(variant.__code__) == function


def test_a_variant_that_fails_to_import_leaves_no_trace(load):
    served, loader = load({"bad_a.py": "X = 1\n"})
    loader.register(served.variant(ID, bad_a="X = 1\nraise ValueError('no')\n"))
    with pytest.raises(OperationFailed) as failed:
        loader.variant(ID, "bad_a")
    assert failed.value.data == {"detail": "ValueError: no", "path": served.path("bad_a.py"), "line": 2}
    assert "bad_a__kb_1234abcd" not in sys.modules
    assert loader.original("bad_a").X == 1


def test_dataclasses_enums_and_super_work_in_a_variant(load):
    text = (
        "from __future__ import annotations\nimport enum, typing, dataclasses\n"
        "@dataclasses.dataclass\nclass P:\n    x: int = 1\n    y: typing.ClassVar[int] = 2\n"
        "class E(enum.Enum):\n    A = 1\n"
        "class Q(P):\n    def __init__(self):\n        super().__init__(5)\n"
        "def host():\n    return Q().x, E.A.value, [f.name for f in dataclasses.fields(P)]\n"
    )
    served, loader = load({"data_a.py": text})
    loader.register(served.variant(ID, data_a=text.replace("(5)", "(6)")))
    assert loader.resolve(ID, served.function("data_a", "host"))() == (6, 1, ["x"])


def test_main_guard_does_not_run_in_a_variant(load):
    text = "RAN = False\nif __name__ == '__main__':\n    RAN = True\n"
    served, loader = load({"guard_a.py": text})
    loader.register(served.variant(ID, guard_a=text + "\n"))
    assert loader.variant(ID, "guard_a").RAN is False


RESOLVE = """
import functools
class C:
    def method(self):
        return 'method'
    @staticmethod
    def static():
        return 'static'
    @classmethod
    def klass(cls):
        return 'klass'
    @property
    def prop(self):
        return 1
    class Inner:
        def deep(self):
            return 'deep'
class D(C):
    pass
def outer():
    def inner():
        return 1
    return inner
def wrapped(f):
    @functools.wraps(f)
    def g(*a):
        return 'wrapped', f(*a)
    return g
@wrapped
def decorated():
    return 1
"""


def test_resolve(load):
    served, loader = load({"res_a.py": RESOLVE})

    def resolve(qualname):
        return loader.resolve(None, served.function("res_a", qualname))

    assert resolve("C.method")(None) == "method"
    assert resolve("C.static")() == "static"
    assert resolve("C.klass")(None) == "klass"
    assert resolve("C.Inner.deep")(None) == "deep"
    assert resolve("D.method")(None) == "method"
    assert resolve("decorated")() == ("wrapped", 1)
    for qualname in ("outer.<locals>.inner", "C.prop"):
        with pytest.raises(OperationFailed) as failed:
            resolve(qualname)
        assert failed.value.kind == "unsupported"
    with pytest.raises(OperationFailed, match=r"has no gone"):
        resolve("gone")


def test_impersonate_serves_the_variant_to_everybody(load):
    served, loader = load({**PACKAGE, "entry_a.py": "import importlib\nK = importlib.import_module('vp.kernels')\nRESULT = K.k()[0]\n"})
    loader.register(served.variant(ID, vp__kernels=PACKAGE["vp/kernels.py"].replace("original", "variant")))
    loader.impersonate(ID)
    assert loader.original("entry_a").RESULT == "variant"
    assert inspect.getsource(sys.modules["vp.kernels"].k).count("variant") == 1
    with pytest.raises(OperationFailed, match="fresh executor"):
        loader.impersonate(ID)


def test_an_unregistered_variant_is_a_bad_request(load):
    _, loader = load({"none_a.py": ""})
    with pytest.raises(OperationFailed, match="isn't loaded"):
        loader.variant("f" * 64, "none_a")


def test_a_variant_may_add_a_module(load):
    served, loader = load({"add_a/__init__.py": "", "add_a/host.py": "def host():\n    return 'original'\n"})
    files = served.variant(ID, add_a__host="from .extra import helper\ndef host():\n    return helper()\n")
    text = "import dataclasses\n@dataclasses.dataclass\nclass D:\n    x: 'int' = 3\ndef helper():\n    return D().x\n"
    files["files"].append({"module": "add_a.extra", "path": served.path("add_a/extra.py"), "sha256": served.put(text)})
    loader.register(files)
    assert loader.resolve(ID, served.function("add_a.host", "host"))() == 3
    assert loader.resolve(None, served.function("add_a.host", "host"))() == "original"


#: Ways in which a variant's text asks for a module that the original hasn't imported.
ASKING = {
    "at the top": "from . import helper\ndef k():\n    return helper.X\n",
    "by name": "from vp import helper as h\ndef k():\n    return h.X\n",
    "inside": "def k():\n    from . import helper\n    return helper.X\n",
    "guarded": "try:\n    from . import helper\nexcept ImportError:\n    helper = None\ndef k():\n    return helper.X\n",
    "below": "from .sub import deep\ndef k():\n    return deep.X\n",
}


@pytest.mark.parametrize("added", [False, True], ids=["there", "added"])
@pytest.mark.parametrize("way", ASKING)
def test_a_variant_imports_what_the_original_has_not(load, way, added):
    name = "vp/sub/deep.py" if way == "below" else "vp/helper.py"
    own = {} if added else {name: "X = 7\n"}
    served, loader = load({**PACKAGE, "vp/sub/__init__.py": "", **own, "vp/launcher.py": IMPORTERS["from_package"]})
    function = served.function("vp.launcher", "host")
    assert loader.resolve(None, function)()[0] == "original"
    files = served.variant(ID, vp__kernels=ASKING[way])
    module = name.removesuffix(".py").replace("/", ".")
    files["files"] += [{"module": module, "path": served.path(name), "sha256": served.put("X = 7\n")}] if added else []
    loader.register(files)
    assert loader.resolve(ID, function)() == 7
    assert loader.resolve(None, function)()[0] == "original"


def test_an_edited_module_that_nobody_has_imported_yet(load):
    served, loader = load({**PACKAGE, "vp/launcher.py": "def host():\n    from . import kernels\n    return kernels.k()\n"})
    loader.register(served.variant(ID, vp__kernels=PACKAGE["vp/kernels.py"].replace("original", "variant")))
    function = served.function("vp.launcher", "host")
    assert loader.resolve(ID, function)() == ("variant", 1)
    assert loader.resolve(None, function)() == ("original", 1)


#: Ways in which a module that isn't edited fills a table with what is.
TABLES = {
    "in a loop": "TABLE = {}\nfor f in (k,):\n    TABLE['k'] = f\n",
    "appended in a loop": "TABLE = []\nfor f in (k,):\n    TABLE.append(f)\nTABLE = dict(zip('k', TABLE))\n",
    "by a decorator": "TABLE = {}\ndef register(f):\n    TABLE['k'] = f\n    return f\n@register\ndef op():\n    return k()\n",
    "by a call": "TABLE = {}\ndef fill():\n    TABLE['k'] = k\nfill()\n",
    "by a call that hands it on": "TABLE = {}\ndef fill(f):\n    TABLE.setdefault('k', f)\nfill(k)\n",
}


@pytest.mark.parametrize("way", TABLES)
def test_a_table_that_is_filled_with_what_is_edited(load, way):
    ops, use = f"from .kernels import k\n{TABLES[way]}", "from .ops import TABLE\ndef host():\n    return TABLE['k']()\n"
    served, loader = load({**PACKAGE, "vp/ops.py": ops, "vp/launcher.py": use})
    loader.register(served.variant(ID, vp__kernels=PACKAGE["vp/kernels.py"].replace("original", "variant")))
    function = served.function("vp.launcher", "host")
    assert loader.resolve(None, function)()[0] == "original"
    assert loader.resolve(ID, function)()[0] == "variant"
    assert loader.resolve(None, function)()[0] == "original"
