"""The corpus itself: it can be read, each edit fits its program, and there is enough of it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.redteam import corpus
from tests.redteam.corpus import FAMILIES, Cheat, Control, Edited, Program, Reason, Role, cheats, controls, named, programs
from tests.redteam.defences import DEFENCES, QUICK, ROOT, THROUGH, Defence

EVERY: tuple[Edited, ...] = (*cheats(), *controls())


def outside(text: str) -> str:
    """The tree of a file without the insides of its functions: what no answer of a model can reach."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body, node.args, node.decorator_list, node.returns = [ast.Pass()], ast.arguments([], [], None, [], [], None, []), [], None
    return ast.dump(tree)


def test_there_is_enough_of_it() -> None:
    assert sum(len(cheat.roles) for cheat in cheats()) >= 80
    assert len(controls()) >= 20
    for role in Role:
        assert sum(role in cheat.roles for cheat in cheats()) >= 20
        assert sum(role in control.roles for control in controls()) >= 15


def test_every_family_every_reason_and_every_program_is_used() -> None:
    assert {cheat.family for cheat in cheats()} == set(FAMILIES)
    assert {reason for cheat in cheats() for reasons in cheat.caught_by.values() for reason in reasons} == set(Reason)
    assert {cheat.base.name for cheat in cheats()} == set(programs())
    assert {control.base.name for control in controls()} == set(programs())


def test_names_are_not_shared() -> None:
    names = [each.name for each in EVERY]
    assert len(set(names)) == len(names)
    assert len({each.text for each in EVERY}) == len(EVERY)


@pytest.mark.parametrize("program", programs().values(), ids=lambda program: program.name)
def test_a_program_has_a_kernel_a_quick_entry_and_sizes_for_a_gpu(program: Program) -> None:
    functions = {n.name for n in ast.parse(program.text).body if isinstance(n, ast.FunctionDef)}
    assert {program.entry, "bench", *program.kernels} <= functions
    assert program.kernels


@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.name)
def test_an_edit_gives_another_program(each: Edited) -> None:
    assert ast.dump(ast.parse(each.text)) != ast.dump(ast.parse(each.base.text))
    # The test and the sizes are the judge's: an edit that changed them would be another workload.
    for name in (each.base.entry, "bench"):
        assert _function(each.text, name) == _function(each.base.text, name)


def _function(text: str, name: str) -> str:
    return next(ast.dump(n) for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == name)


@pytest.mark.parametrize("cheat", cheats(), ids=lambda cheat: cheat.name)
def test_a_cheat_says_what_it_is(cheat: Cheat) -> None:
    assert cheat.what.endswith(".")
    assert cheat.source.endswith(".")
    assert cheat.family in FAMILIES
    assert set(cheat.caught_by) == set(cheat.roles) != set()
    for role, reasons in cheat.caught_by.items():
        assert reasons
        assert role is Role.MODEL or Reason.GATE not in reasons  # only what a model writes goes through it
    assert cheat.caught_by.get(Role.VERIFY) == cheat.caught_by.get(Role.FINALIST)  # they take the same way


@pytest.mark.parametrize("control", controls(), ids=lambda control: control.name)
def test_a_control_says_why_it_looks_suspicious(control: Control) -> None:
    assert control.what.endswith(".")
    assert control.why.endswith(".")
    assert {Role.VERIFY, Role.FINALIST} <= set(control.roles)


@pytest.mark.parametrize("each", [e for e in EVERY if Role.MODEL in e.roles], ids=lambda each: each.name)
def test_what_a_model_could_write_stays_inside_of_functions(each: Edited) -> None:
    assert outside(each.text) == outside(each.base.text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"""One."""\nBASE = "softmax"\n', "must define"),
        ('"""One."""\nimport os\n', "only assignments of literals"),
        ('"""One."""\nBASE = open("x")\n', "malformed node"),
        ('"""One."""\nBASE, WHY, ROLES, NEEDS_GPU, EDITS = 1, 2, 3, 4, 5\n', "only assignments of literals"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "one.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=said):
        corpus._control(path)


def test_an_edit_that_fits_nowhere_or_twice_is_refused() -> None:
    program = Program("p", "a = 1\nb = 1\n")
    assert (
        program.edited(
            (("a = 1", "a = 2"), ("a = 2\n", "")),
        )
        == "b = 1\n"
    )
    for old in ("c = 1", " = 1"):
        with pytest.raises(ValueError, match="times in p"):
            program.edited(((old, ""),))


# ------------------------------------------------------------ the table of defences


@cache
def dumped(file: str) -> str:
    """The tree of a file of the product."""
    return ast.dump(ast.parse((ROOT / "server" / file).read_text(encoding="utf-8")))


@cache
def functions_of(path: str) -> frozenset[str]:
    """What a file of tests defines."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))


@pytest.mark.parametrize("defence", DEFENCES, ids=lambda defence: f"{defence.file}, {defence.name}")
def test_a_defence_can_be_switched_off_and_its_test_is_there(defence: Defence) -> None:
    """That the test fails then is a matter of ``make stress``."""
    assert ast.dump(ast.parse(defence.text)) != dumped(defence.file)
    path, _, name = defence.test.partition("::")
    assert name.partition("[")[0] in functions_of(path)


def test_no_defence_is_there_twice() -> None:
    assert len({(d.file, d.old) for d in DEFENCES}) == len({(d.file, d.name) for d in DEFENCES}) == len(DEFENCES)


def test_what_gets_through_without_a_defence_is_of_the_corpus() -> None:
    assert all(Role.VERIFY in named(name).roles and not named(name).needs_gpu for name in THROUGH.values())
    assert set(QUICK) < set(THROUGH)
