"""Without a GPU a sample of each launch's programs is run: what the program makes of results that aren't whole says nothing of it."""

import pytest

from kernelband_worker.errors import OperationFailed

PLAIN = ("plain_function", "scale_kernel", ["scale"], "test_scale")
PRINTS = """

def test_prints():
    print('largest', scale(torch.ones(4096, device='cuda')).max())


if __name__ == '__main__':
    test_prints()
"""

#: As in a notebook: what is asserted, in a statement or by a function that one calls, stands between what is defined.
STRAIGHT = """

x = torch.ones(4096, device="cuda")


def agree(a, b):
    assert torch.equal(a, b)


for size in (1000, 4096):
    y = scale(x[:size])
    assert torch.equal(y, 3.0 * x[:size])
    agree(y, 3.0 * x[:size])


def later():
    return scale(x)


scale(torch.ones(512, device="cuda"))
"""


def test_assertions_about_a_sample_are_passed_over(make):
    run = make()
    cases = [c for c in run.capture(*PLAIN, programs=2) if c["neighbour_of"] is None]
    assert [c["tensors"][0]["shape"] for c in cases] == [[1000], [4096]]  # the first failed assertion doesn't hide the second size
    checked = run.check(None, programs=2)["cases"]
    assert all(c["ok"] for c in checked)
    assert all(0 < o["total"] < 1000 for c in checked if c["case"] == cases[0]["id"] for o in c["outputs"])


def test_a_wrong_result_in_full_is_no_sample(make):
    text = make().served.files["plain_function.py"].replace("x * 3.0)", "x * 4.0)")
    with pytest.raises(OperationFailed, match=r"The entry test_scale fails .*AssertionError"):
        make({"wrong.py": text}).capture("wrong", "scale_kernel", ["scale"], "test_scale", programs=0)


@pytest.mark.parametrize(("kind", "entry", "named"), [("callable", "test_prints", "test_prints"), ("script", "__main__", "printing.py")])
def test_what_is_printed_of_a_sample_is_called_so(make, kind, entry, named):
    text = make().served.files["plain_function.py"] + PRINTS
    run = make({"printing.py": text})
    run.capture("printing", "scale_kernel", ["scale"], entry, kind=kind, programs=2)
    assert any(note.endswith(f"figures that {named} prints are none of a whole run.") for note in run.notes), run.notes
    tested = make({"test_printing.py": text})
    tested.capture("test_printing", "scale_kernel", ["scale"], "test_prints", kind="pytest", programs=2)
    assert not any("prints" in note for note in tested.notes), "pytest keeps what a program prints"
    whole = make({"printing_whole.py": text})
    whole.capture("printing_whole", "scale_kernel", ["scale"], entry, kind=kind, programs=0)
    assert not any("prints" in note for note in whole.notes), whole.notes


@pytest.mark.parametrize(("entry", "kind"), [("__main__", "script"), ("later", "callable")])
def test_what_a_module_asserts_about_a_sample_ends_nothing(make, entry, kind):
    run = make({"straight.py": make().served.files["plain_function.py"].partition("\n\ndef test_")[0] + STRAIGHT})
    cases = [c for c in run.capture("straight", "scale_kernel", ["scale"], entry, kind=kind, programs=2) if c["neighbour_of"] is None]
    assert [c["tensors"][0]["shape"] for c in cases] == [[1000], [4096], [512]]
    assert any("own assertions have no full results to check" in note for note in run.notes), run.notes
    assert all(c["ok"] for c in run.check(None, programs=2)["cases"])  # another executor, which imports it as well


@pytest.mark.parametrize("wrong", ["    assert torch.equal(y, 4.0", "    agree(y, 4.0"])
def test_what_a_module_asserts_about_a_whole_result_counts(make, wrong):
    text = make().served.files["plain_function.py"].partition("\n\ndef test_")[0] + STRAIGHT
    with pytest.raises(OperationFailed, match=r"The entry .* fails .*AssertionError"):
        make({"wrong.py": text.replace(wrong.replace("4.0", "3.0"), wrong)}).capture(
            "wrong", "scale_kernel", ["scale"], "__main__", kind="script", programs=0
        )


#: As tests are written: a helper asserts with words of its own, and behind that comes what launches something else.
TESTED = """

def agree(a, b):
    if not torch.equal(a, b):
        raise AssertionError("they differ")
    return True


class TestScale:
    def test_sizes(self):
        for size in (1000, 4096):
            self._test_one(size)

    def _test_one(self, size):
        x = torch.ones(size, device="cuda")
        y = scale(x)
        WRONG
        agree(y, 3.0 * x)
        with pytest.raises(AssertionError):
            agree(y, 7.0 * x)
        scale(torch.ones(size + 1, device="cuda"))
"""


def of_a_test(make, wrong="assert torch.equal(y, 3.0 * x)"):
    text = make().served.files["plain_function.py"].partition("\n\ndef test_")[0]
    return make({"test_tested.py": f"import pytest\n{text}{TESTED.replace('WRONG', wrong)}"})


def test_what_a_test_asserts_about_a_sample_hides_nothing_behind_it(make):
    run = of_a_test(make)
    given = run.capture("test_tested", "scale_kernel", ["scale"], "TestScale::test_sizes", kind="pytest", programs=2)
    assert [c["tensors"][0]["shape"] for c in given if c["neighbour_of"] is None] == [[1000], [1001], [4096], [4097]]
    assert any("own assertions have no full results to check" in note for note in run.notes), run.notes


@pytest.mark.parametrize("wrong", ["assert torch.equal(y, 4.0 * x)", "agree(y, 4.0 * x)"])
def test_what_a_test_asserts_about_a_whole_result_counts(make, wrong):
    with pytest.raises(OperationFailed, match=r"The entry .* fails .*AssertionError"):
        of_a_test(make, wrong).capture("test_tested", "scale_kernel", ["scale"], "TestScale::test_sizes", kind="pytest", programs=0)


OTHER = """@triton.jit
def one_kernel(y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 1.0, mask=i < n)


def test_other():
    y = torch.zeros(4096, device="cuda")
    one_kernel[(64,)](y, 4096, BLOCK=64)
    right = agree(y, torch.ones_like(y))
    scale(y)
"""


def test_an_assertion_about_a_sample_that_ends_an_entry_is_called_so(make):
    """Where it stands in the middle of a statement, nothing can go on; that the results were wrong isn't said."""
    text = make().served.files["plain_function.py"].partition("\n\ndef test_")[0]
    text += TESTED.partition("class")[0] + OTHER
    with pytest.raises(OperationFailed, match=r"test_other stops .* only a sample of what it looks at was run") as refused:
        make({"test_other.py": text}).capture("test_other", "scale_kernel", ["scale"], "test_other", kind="pytest", programs=2)
    assert "differ" not in str(refused.value)
