"""Why an entry never launches the kernel that is wanted: what it launches instead, and where that stands."""

from __future__ import annotations

import re

import pytest

from kernelband_worker.cases.launched import Launches
from kernelband_worker.errors import OperationFailed


def refusal(run, module, kernel, test, kind="never_launches"):
    with pytest.raises(OperationFailed) as refused:
        run.capture(module, kernel, [], test)
    assert refused.value.kind == kind
    assert "\n" not in refused.value.message
    return refused.value.message


def test_a_kernel_that_only_serves_generated_text(make):
    run = make()
    said = refusal(run, "generated", "tripled", "test_tripled", "generated")
    assert "it launched tripled_over_blocks (1 times), which calls it." in said
    written = re.search(r"generates tripled_over_blocks while it runs, in (\S+?)[ ,]", said)
    assert written is not None
    assert written.group(1) == run.loader.original("generated").tripled.module.__file__
    assert f"launched in Elementwise.__call__ of {run.served.path('generated.py')}" in said


def test_generated_text_that_does_not_call_it_says_nothing_of_other_entries(make):
    said = refusal(make(), "generated", "never:forgotten_kernel", "test_tripled")
    assert "it launched tripled_over_blocks (1 times). The program generates tripled_over_blocks" in said
    assert said.endswith("Name an entry that launches one of these.")


def test_a_test_with_its_own_copy_names_both_places(make):
    run = make()
    said = refusal(run, "own_copy", "original_of_copy:flip_sign_kernel", "test_flip_sign")
    line = next(i for i, text in enumerate(run.served.files["own_copy.py"].splitlines(), 1) if text == "@triton.jit")
    assert f"that of {run.served.path('own_copy.py')} (line {line}), and not that of {run.served.path('original_of_copy.py')}" in said
    assert f"{run.served.path('own_copy.py')}::flip_sign_kernel" in said


def test_others_of_the_workspace_are_named_and_nothing_is_called_generated(make):
    said = refusal(make(), "never", "forgotten_kernel", "test_fill")
    assert said == "The entry test_fill never launches forgotten_kernel: it launched used_kernel (1 times). Name an entry that does."


def test_a_list_of_many_is_cut(make):
    class Event:
        def __init__(self, number):
            def kernel():
                return number

            self.kernel = type("Kernel", (), {"fn": kernel})
            self.function = {"module": "m", "path": __file__, "qualname": f"kernel_{number:02}"}
            self.frames = []

    run = make()
    launches = Launches(run.state)
    for number in range(20):
        launches.note(Event(number))
    said = launches.instead({"module": "m", "path": "/m.py", "qualname": "wanted"})
    assert said.startswith("it launched kernel_00 (1 times)")
    assert "and 14 more" in said
