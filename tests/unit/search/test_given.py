"""One edit is judged: what is said of it, what is kept, and what it was compared with."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kernelband.cli.history import outcome
from kernelband.errors import HistoryError, SourceError, UsageError, WorkerError
from kernelband.explain.again import again
from kernelband.history import Store, runs, trials
from kernelband.search.events import Event, RunEnded
from kernelband.search.given_edit import About, given_edit, predicted, worst_case
from kernelband.search.options import Options
from kernelband.search.resume import peek
from kernelband.search.run import optimize

from .fake_lab import TEXT, FakeExecutor, FakeLab


class World:
    """A file that is committed, and edits of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file, self.db = folder, folder / "k.py", folder / "state" / "h.db"
        self.file.write_text(TEXT)
        self.events: list[Event] = []
        self.labs: list[FakeLab] = []
        self.git("init", "-q")
        self.git("add", "k.py")
        self.git("commit", "-q", "-m", "first")

    def git(self, *words: str) -> None:
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *words], cwd=self.folder, check=True, capture_output=True)

    def options(self, **more: Any) -> Options:
        return evolve(Options(str(self.file)), **more)

    def judge(self, text: str, *, measured: bool = True, lab: type[FakeLab] = FakeLab, options: Options | None = None) -> RunEnded:
        self.file.write_text(text)
        asked = options or given_edit(self.options(), None)

        def start(workspace: Any, *, counts: bool, **_: Any) -> Any:
            assert not counts, "what an edit moves is not interpreted for"
            self.labs.append(lab(workspace, measured))
            return self.labs[-1]

        return optimize(asked, self.db, self.events.append, start_lab=start)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def edited(block: int, more: str = "") -> str:
    return TEXT.replace("16", str(block)) + more


def test_a_faster_edit_is_verified_and_kept_as_a_run(world: World) -> None:
    ended = world.judge(edited(256))
    assert (ended.state, ended.best, ended.verified) == ("finished", 1, (1,))
    assert re.fullmatch(r"your edit of k is faster: (\d\.\d\d)× \(\d\.\d\d to \d\.\d\d\) against HEAD on NVIDIA H200( SXM)?", ended.reason)
    with Store.read(world.db) as store:
        row = runs.find(store, ended.run)
        assert (row.policy, row.reason, row.options["against"]) == ("given", ended.reason, "HEAD")
        assert runs.base_texts(store, row.id) == {str(world.file): TEXT}
        original, variant = trials.variants(store, row.id)
        assert (original.id, variant.author, variant.strategy, variant.move) == (0, "you", "yours", "edit")
        (final,) = trials.finals(store, row.id)
        assert final.verified
        assert outcome(store, row).startswith("your edit: verified ")
        assert again(row, {}, {}).command == f"kernelband verify {world.file}::k --against HEAD --objective device --seed 0"
    with pytest.raises(HistoryError, match="nothing to resume"):
        peek(world.db, ended.run)


def test_a_slower_edit_is_measured_by_the_final_all_the_same(world: World) -> None:
    ended = world.judge(edited(8))
    assert (ended.best, ended.verified) == (None, ())
    assert re.search(r"slower: 0\.\d\d× \(0\.\d\d to 0\.\d\d\)", ended.reason)
    with Store.read(world.db) as store:
        (final,) = trials.finals(store, ended.run)
        assert final.result["stage"] == "final"
        assert outcome(store, runs.find(store, ended.run)) == "your edit: slower"


@pytest.mark.parametrize(
    ("trouble", "said", "word"),
    [
        ("wrong", "your edit of k computes something else than HEAD: 3 elements differ", "wrong"),
        ("compile_error", "your edit of k doesn't compile on NVIDIA H200: It does not compile", "did not compile"),
        ("crashed", "your edit of k crashes on NVIDIA H200: The executor crashed", "crashed"),
        ("timeout", "your edit of k takes too long on NVIDIA H200: The executor timeout", "timeout"),
        ("entry", "your edit of k computes something else than HEAD: ", "wrong"),
    ],
)
def test_an_edit_that_fails_is_a_result(world: World, trouble: str, said: str, word: str) -> None:
    ended = world.judge(edited(256, f"# MAKE {trouble}\n"))
    assert (ended.state, ended.best, ended.verified) == ("finished", None, ())
    assert ended.reason.replace(" SXM", "").startswith(said)
    with Store.read(world.db) as store:
        assert outcome(store, runs.find(store, ended.run)) == f"your edit: {word}"


class HeldOut(FakeLab):
    """Only the final's inputs show that the edit is wrong."""

    def fresh(self, name: str) -> FakeExecutor:
        executor = super().fresh(name)
        if name.startswith("check"):
            ask = executor.call

            def call(operation: str, *more: Any, **named: Any) -> dict[str, Any]:
                answer = ask(operation, *more, **named)
                if operation == "check":
                    output = {"name": "return", "max_abs": 0.25, "wrong": 1}
                    answer["cases"] = [{**c, "ok": False, "reason": "1 of 9 is wrong.", "outputs": [output]} for c in answer["cases"]]
                return answer

            executor.call = call  # pyright: ignore[reportAttributeAccessIssue]
        return executor


def test_an_edit_that_only_the_final_finds_wrong_says_where(world: World) -> None:
    ended = world.judge(edited(256), lab=HeldOut)
    assert (ended.best, ended.verified) == (None, ())
    assert "something else than HEAD" in ended.reason
    assert ended.reason.endswith("0.25; 1 of 9 is wrong")


def test_where_nothing_is_measured_no_figure_is_said(world: World) -> None:
    ended = world.judge(edited(256), measured=False)
    assert ended.reason.startswith("predicted, not measured: ")
    assert not re.search(r"\d(x|×|\.\d)", ended.reason)
    with Store.read(world.db) as store:
        assert trials.finals(store, ended.run) == ()
        assert outcome(store, runs.find(store, ended.run)).endswith("(predicted)")


@pytest.mark.parametrize("measured", [True, False])
def test_an_edit_that_compiles_to_the_same_is_not_measured(world: World, measured: bool) -> None:
    options = world.options(edited={str(world.file): TEXT + "# nothing"}, against="old.py", trials=1)
    ended = world.judge(TEXT, options=options, measured=measured)
    assert "the same machine code" in ended.reason
    assert ended.reason.endswith("(old.py)")
    assert world.labs[0].calls.count("check") == 0
    with Store.read(world.db) as store:
        assert outcome(store, runs.find(store, ended.run)) == "your edit: equal"


def test_half_a_judgement_is_not_kept(world: World) -> None:
    class Lost(FakeLab):
        def fresh(self, name: str) -> Any:
            raise WorkerError("The worker is gone.")

    class Stopped(FakeLab):
        def fresh(self, name: str) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(WorkerError):
        world.judge(edited(256), lab=Lost)
    assert world.judge(edited(256), lab=Stopped).state == "interrupted"
    assert not world.db.exists()


# ------------------------------------------------------------ what it is compared with


def test_an_unsaved_text_is_compared_with_the_saved_one_and_a_saved_one_with_the_commit(world: World) -> None:
    world.file.write_text(edited(32))
    path = str(world.file)
    saved = given_edit(world.options(), None)
    assert (saved.against, saved.overlays[path], saved.edited[path]) == ("HEAD", TEXT, edited(32))
    unsaved = given_edit(world.options(overlays={path: edited(64)}), None)
    assert (unsaved.against, unsaved.overlays[path], unsaved.edited[path]) == ("the saved file", edited(32), edited(64))
    comment = given_edit(world.options(overlays={path: edited(32) + "# unsaved\n"}), None)
    assert (comment.against, comment.overlays[path], comment.edited[path]) == ("HEAD", TEXT, edited(32) + "# unsaved\n")
    asked = given_edit(world.options(overlays={path: edited(64)}), "HEAD")
    assert (asked.overlays[path], asked.edited[path]) == (TEXT, edited(64))
    (world.folder / "old.py").write_text(edited(128))
    named = given_edit(world.options(), str(world.folder / "old.py"))
    assert (named.overlays[path], named.edited[path]) == (edited(128), edited(32))


def test_functions_in_other_files_are_those_of_the_commit_too(world: World) -> None:
    kernel, host = TEXT.split("\n\ndef copy", 1)
    (world.folder / "hosts.py").write_text("import torch\nimport triton\nfrom k import k\n\n\ndef copy" + host)
    world.file.write_text(kernel + "\n")
    world.git("add", ".")
    world.git("commit", "-q", "-m", "two files")
    hosts = world.folder / "hosts.py"
    before = hosts.read_text()
    hosts.write_text(before.replace("16", "64"))
    found = given_edit(world.options(), None)
    assert found.overlays == {str(world.file): kernel + "\n", str(hosts): before}
    assert found.edited == {str(hosts): before.replace("16", "64")}


def test_the_original_may_be_texts_that_are_nowhere(world: World) -> None:
    path = str(world.file)
    found = given_edit(world.options(), None, {path: edited(32)})
    assert (found.against, found.overlays[path], found.edited) == ("the text before the edit", edited(32), {path: TEXT})
    unsaved = given_edit(world.options(overlays={path: edited(64)}), None, {path: edited(32)})
    assert (unsaved.overlays[path], unsaved.edited[path]) == (edited(32), edited(64))
    with pytest.raises(UsageError, match="the same as"):
        given_edit(world.options(), None, {path: TEXT + "# more\n"})
    with pytest.raises(UsageError, match="given twice"):
        given_edit(world.options(), "HEAD", {path: edited(32)})
    kernel, host = TEXT.split("\n\ndef copy", 1)
    hosts = world.folder / "hosts.py"
    hosts.write_text("import torch\nimport triton\nfrom k import k\n\n\ndef copy" + host)
    world.file.write_text(kernel + "\n")
    before = hosts.read_text().replace("16", "64")
    found = given_edit(world.options(), None, {str(hosts): before})  # the kernel's own file is as it is
    assert found.overlays == {path: kernel + "\n", str(hosts): before}
    assert found.edited == {str(hosts): hosts.read_text()}


def test_what_can_t_be_compared_is_said(world: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(UsageError, match="the same as in HEAD"):
        given_edit(world.options(), None)
    world.file.write_text(TEXT + "\n# a comment\n")
    with pytest.raises(UsageError, match="nothing to verify"):
        given_edit(world.options(), None)
    world.file.write_text(edited(32))
    for ref in ("nowhere", "--output=x", "HEAD~5", ""):
        with pytest.raises(SourceError, match="There is no commit"):
            given_edit(world.options(), ref)
    new = world.folder / "new.py"
    new.write_text(TEXT)
    with pytest.raises(SourceError, match=r"new\.py is not in HEAD"):
        given_edit(Options(str(new)), None)
    world.file.write_text(edited(32).replace("def k(", "def renamed(").replace("k[(", "renamed[("))
    with pytest.raises(SourceError, match="original of renamed"):
        given_edit(world.options(), None)
    elsewhere = tmp_path_factory.mktemp("plain") / "k.py"
    elsewhere.write_text(TEXT)
    with pytest.raises(SourceError, match="no git repository"):
        given_edit(Options(str(elsewhere)), None)


def test_git_runs_nothing_of_the_repository(world: World) -> None:
    canary = world.folder / "canary"
    trap = world.folder / "trap.sh"
    trap.write_text(f"#!/bin/sh\n: > {canary}\ncat\n")
    trap.chmod(0o755)
    (world.folder / ".gitattributes").write_text("*.py diff=trap filter=trap\n")
    keys = (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "diff.external",
        "diff.trap.textconv",
        "filter.trap.smudge",
        "filter.trap.clean",
    )
    for key in keys:
        world.git("config", key, str(trap))
    world.file.write_text(edited(32))
    assert given_edit(world.options(), None).overlays[str(world.file)] == TEXT
    assert not canary.exists()
    world.git("status")
    assert canary.exists()  # so that this test can fail


def test_sentences_hold_figures_of_the_final_only() -> None:
    about = About("k", "HEAD", "H200")
    check: Any = {"cases": [], "not_exercised": [], "interpreted": False, "out_of_bounds": [], "seconds": 0.0}
    assert worst_case((), check) == ""
    outputs = [{"name": "return", "max_abs": 0.5, "wrong": 1}, {"name": "y", "max_abs": 2.25, "wrong": 3}]
    check["cases"] = [
        {"case": "aa", "ok": False, "outputs": outputs[:1]},
        {"case": "bb", "ok": False, "outputs": outputs},
        {"case": "cc", "ok": True, "outputs": [{"name": "z", "max_abs": 9.0, "wrong": 0}]},
    ]
    cases: Any = [{"id": "bb", "arguments": "x: float32[8]"}]
    assert worst_case(cases, check) == "on x: float32[8] the largest error of y is 2.25"
    assert predicted(about, "unclear", "") == (
        "predicted, not measured: your edit of k is neither likely faster nor likely slower than HEAD on H200"
    )
