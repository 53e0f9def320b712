"""How far an edit reaches by what the texts say: through packages that only hand names on, and not because of what else is in them."""

from __future__ import annotations

import sys

import pytest

from kernelband_worker import imports
from tests.unit_worker.loader.test_variants import ID

LARGE = {
    "big/__init__.py": (
        "LOADED = []\n"
        "from big.runtime import device\n"
        "from big.ops import *\n"
        "from big import ops\n"
        "name = device.upper()\n"
        "TABLE = {}\n"
        "ALL = {'softmax': softmax}\n"
        "def find(key):\n    return ALL[key]()\n"
    ),
    "big/runtime.py": "device = 'cuda'\n",
    "big/ops/__init__.py": "from big.ops.softmax import softmax\nfrom big.ops.other import other\n",
    "big/ops/softmax.py": "import big\ndef softmax():\n    return 'original', big.name\n",
    "big/ops/other.py": "import big\nbig.LOADED.append('other')\ndef other():\n    return big.device\n",
    "big/use.py": "import big\nfrom big import other, softmax as s\ndef host():\n    return s(), other(), big.name\n",
    "big/far.py": "import big\ndef host():\n    return big.device, big.ops.other(), big.TABLE\n",
    "big/by_key.py": "import big\ndef host():\n    return big.find('softmax')\n",
    "big/by_name.py": "import big\ndef host():\n    return getattr(big, 'softmax')()\n",
}
EDIT = {"big__ops__softmax": LARGE["big/ops/softmax.py"].replace("original", "variant")}


def loaded(load):
    """The siblings of the variant that were run."""
    served, loader = load(LARGE)
    loader.original("big")
    loader.register(served.variant(ID, **EDIT))
    return loader, lambda: {
        name.partition("__kb_")[0] for name in sys.modules if name.endswith(f"__kb_{ID[:8]}") and name.startswith("big")
    }


def host(loader, module, served_name="host"):
    return loader.resolve(ID, {"module": module, "path": "", "qualname": served_name})


def test_only_what_hangs_on_the_edit_is_run_again(load):
    loader, run = loaded(load)
    assert host(loader, "big.ops.softmax", "softmax")() == ("variant", "CUDA")
    assert run() == {"big.ops.softmax"}
    assert host(loader, "big.use")() == (("variant", "CUDA"), "cuda", "CUDA")
    assert run() == {"big.ops.softmax", "big.use"}
    assert sys.modules["big"].LOADED == ["other"]
    assert sys.modules["big"].softmax() == ("original", "CUDA")


def test_what_reads_names_that_do_not_hang_on_it_is_the_original(load):
    loader, run = loaded(load)
    assert host(loader, "big.far") is loader.original("big.far").host
    assert run() == set()


@pytest.mark.parametrize("module", ["big.by_key", "big.by_name"])
def test_a_package_that_looks_it_up_by_itself_is_run_again(load, module):
    loader, run = loaded(load)
    assert host(loader, module)() == ("variant", "CUDA")
    assert {"big.ops.softmax", module} <= run()
    assert sys.modules["big"].find("softmax") == ("original", "CUDA")


def test_a_constant_that_is_handed_on_is_the_variants(load):
    texts = {
        "con/__init__.py": "from con.settings import BLOCK\nTWICE = 2 * BLOCK\nif BLOCK > 8:\n    LARGE = True\nelse:\n    LARGE = False\n",
        "con/settings.py": "BLOCK = 8\n",
        "con/use.py": "import con\nimport con.settings as s\ndef host():\n    return con.BLOCK, con.TWICE, con.LARGE, s.BLOCK\n",
    }
    served, loader = load(texts)
    loader.original("con.use")
    loader.register(served.variant(ID, con__settings="BLOCK = 16\n"))
    assert host(loader, "con.use")() == (16, 32, True, 16)
    assert loader.resolve(None, served.function("con.use", "host"))() == (8, 16, False, 8)


def test_what_is_put_in_the_place_of_a_name_is_seen_and_stays_of_its_side(load):
    texts = {
        "put/__init__.py": "from put.kernels import k\nSTATE = {}\ndef state():\n    return STATE, k()\n",
        "put/kernels.py": "def k():\n    return 'original'\n",
        "put/patch.py": "import put\nput.k = lambda: 'patched'\n",
        "put/use.py": "import put\ndef host():\n    put.STATE['x'] = 1\n    put.LIMIT = 3\n    return put.state(), put.k(), put.LIMIT\n",
    }
    served, loader = load(texts)
    loader.original("put.patch")
    loader.register(served.variant(ID, put__kernels="def k():\n    return 'variant'\n"))
    assert host(loader, "put.use")() == (({"x": 1}, "variant"), "variant", 3)
    assert sys.modules["put"].STATE == {}
    assert not hasattr(sys.modules["put"], "LIMIT")
    assert sys.modules["put"].k() == "patched"


HANDED_ON = {
    "if": (
        "from tri.settings import FAST\nif FAST:\n    from tri.quick import k\nelse:\n    from tri.slow import k\n",
        "FAST = False\n",
        "FAST = True\n",
    ),
    "constant": (
        "import tri.settings\nk = None\nif tri.settings.FAST:\n    k = 'quick'\nelse:\n    k = 'slow'\n",
        "FAST = False\n",
        "FAST = True\n",
    ),
    "try": (
        "try:\n    from tri.settings import k\nexcept ImportError:\n    from tri.slow import k\n",
        "",
        "def k():\n    return 'quick'\n",
    ),
    "star": ("from tri.slow import *\nfrom tri.settings import *\n", "", "def k():\n    return 'quick'\n"),
    "star in a branch": (
        "from tri.settings import FAST\nfrom tri.slow import *\nif FAST:\n    from tri.quick import *\n",
        "FAST = False\n",
        "FAST = True\n",
    ),
    "loop": ("from tri.settings import NAMES\nfor k in NAMES:\n    pass\n", "NAMES = ['slow']\n", "NAMES = ['quick']\n"),
    "names": ("import tri.settings as s\nk, other = s.PAIR\n", "PAIR = 'slow', 1\n", "PAIR = 'quick', 1\n"),
}


@pytest.mark.parametrize("way", sorted(HANDED_ON))
def test_what_an_edit_decides_is_decided_anew(load, way):
    package, before, after = HANDED_ON[way]
    texts = {
        "tri/__init__.py": package,
        "tri/settings.py": before,
        "tri/quick.py": "def k():\n    return 'quick'\n",
        "tri/slow.py": "def k():\n    return 'slow'\n",
        "tri/use.py": "import tri\ndef host():\n    return tri.k() if callable(tri.k) else tri.k\n",
        "tri/direct.py": "from tri import k\ndef host():\n    return k() if callable(k) else k\n",
    }
    served, loader = load(texts)
    loader.original("tri.use")
    loader.register(served.variant(ID, tri__settings=after))
    for module in ("tri.use", "tri.direct"):
        assert host(loader, module)() == "quick"
        assert loader.resolve(None, served.function(module, "host"))() == "slow"


def test_a_tensor_that_a_module_keeps_is_of_its_side(load):
    texts = {
        "buf/__init__.py": (
            "import torch\nfrom buf.kernels import k\nKEPT = torch.zeros(1)\nTYPE = torch.float16\ndef add():\n    KEPT.add_(k())\n"
        ),
        "buf/kernels.py": "def k():\n    return 1\n",
        "buf/use.py": "import buf\ndef host():\n    buf.add()\n    return float(buf.KEPT), str(buf.TYPE)\n",
    }
    served, loader = load(texts)
    loader.original("buf.use")
    loader.register(served.variant(ID, buf__kernels="def k():\n    return 5\n"))
    assert host(loader, "buf.use")() == (5.0, "torch.float16")
    assert float(sys.modules["buf"].KEPT) == 0.0


def test_what_a_text_binds_and_uses():
    text = (
        "import a.b\nimport c.d as e\nfrom .f import g as h, i\nfrom j import *\n"
        "K = h(1)\nK.append(i)\nfor L in K:\n    M = L\nglobal N\ndef o():\n    global P\n    P = e.q.r\n    import t\n    return t\n"
    )
    names, stars = imports.bindings(text, "pkg")
    assert stars == {"j"}
    assert names["a"] == {imports.Binding("module", "a"), imports.Binding("module", "a.b")}
    assert names["e"] == {imports.Binding("module", "c.d")}
    assert names["h"] == {imports.Binding("from", "pkg.f", "g")}
    assert names["K"] == {imports.Binding("name", item=n) for n in ("h", "i")}
    assert names["L"] == names["M"] == names["o"] == names["P"] == {imports.OWN}
    assert {(use.binding.module, use.binding.item, use.attributes) for use in imports.uses(text, "pkg")} == {
        ("j", "*", ()),
        ("pkg.f", "g", ()),
        ("pkg.f", "i", ()),
        ("c.d", "", ("q", "r")),
        ("t", "", ()),
    }
