"""Autotune lists: an edit of the configuration that the tuner chose, or one more. The tuner keeps the last word.

A list that is written out changes in its place where the tuner chose the same for all timed cases. Where it didn't, and where a list is
made, by a comprehension or a function, here or in another file (``MADE + [triton.Config(...)]``), it gets another member: nobody else's
changes, and what the tuner had to choose from before is still there. Not so where its members have a hook, which one that is written here
would lack.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from kernelband.source.model import Config, Edit, Span
from kernelband.source.syntax import all_nodes, expression_tree
from kernelband.strategies._base import Proposal
from kernelband.strategies.code import At, View
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.module import Module
from kernelband.strategies.tiling.candidates import ADDED, candidates, covered, make, options_of
from kernelband.strategies.tiling.space import LIMIT, Tile

HOOK = "pre_hook"
#: Of a configuration as the tuner tells it: what isn't a constexpr of the kernel; with what Triton takes where it isn't said.
OPTIONS = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None}


def configured(at: At) -> Iterator[Proposal | None]:
    """For a kernel that is autotuned."""
    chosen, tuned = _chosen(at.view, at.view.kernel.model.configs), _tuned(at.view)
    several = len({json.dumps(x["config"], sort_keys=True) for x in at.view.timed_launches}) > 1
    if chosen is not None and _written_out(chosen) and not (several and tuned is not None):
        yield from _edited(at, chosen)
    elif tuned is not None:
        yield from _added(at, *tuned)


def _written_out(config: Config) -> bool:
    texts = [e.text for e in config.constants.values()] + [e.text for n, e in config.options.items() if n != HOOK]
    try:
        return all(isinstance(expression_tree(text).body, ast.Constant) for text in texts)
    except (ValueError, SyntaxError):
        return False


# ---------------------------------------------------------------- a list that is written out


def _edited(at: At, chosen: Config) -> Iterator[Proposal | None]:
    """Edits of the configuration that the autotuner chose: the list keeps its other members."""
    view = at.view
    module, model = view.kernel.module, view.kernel.model
    names = [n for n in covered(view, view.launches[0] if view.launches else None) if n in chosen.constants]
    present = {n: int(chosen.constants[n].text) for n in names if chosen.constants[n].text.isdecimal()}
    numbers = {n: int(e.text) for n, e in chosen.options.items() if e.text.isdecimal()}
    warps, stages = numbers.get("num_warps", 4), numbers.get("num_stages", 3)
    call = next((n for n in all_nodes(module.tree) if isinstance(n, ast.Call) and module.span(n) == chosen.span), None)
    if call is None:
        return
    for tile in islice(candidates(view, present, warps, stages), LIMIT):
        edits: Edits = [(module.path, Edit(chosen.constants[n].span, str(v))) for n, v in tile.blocks.items() if v != present[n]]
        missing: list[str] = []
        for name, value in options_of(tile, warps, stages).items():
            span: Span | None = chosen.options[name].span if name in chosen.options else None
            if span is not None and name in numbers:
                edits.append((module.path, Edit(span, str(value))))
            elif span is None:
                missing.append(f"{name}={value}")
        added = module.add_arguments(call, missing) if missing else []
        if added is not None:
            edits += [(module.path, e) for e in added]
            where = {"config": str(model.configs.index(chosen))}
            yield make(at, tile, edits, where=where, present=present, options=(warps, stages), beside="")


def _chosen(view: View, configs: tuple[Config, ...]) -> Config | None:
    """The configuration that launches of the cases were given, where it is written; the first one when none is known."""
    if not configs:
        return None
    for launch in view.target_launches:
        picked = launch["config"] or {}
        for config in configs:
            written = {n: e.text for n, e in {**config.constants, **config.options}.items() if n != HOOK}
            if picked and all(str(picked.get(n, t)) == t for n, t in written.items()):
                return config
    return None if any(launch["config"] for launch in view.target_launches) else configs[0]


# ---------------------------------------------------------------- a list that is made


def _tuned(view: View) -> tuple[ast.expr, Mapping[str, Any]] | None:
    """The list that another configuration can be added to, and the one that the tuner chose for most launches of the cases."""
    made, chosen = _list(view), _most(view)
    if made is None or chosen is None or HOOK in chosen or view.kernel.module.imported.get("triton") != "triton":
        return None
    return made, chosen


def _added(at: At, made: ast.expr, chosen: Mapping[str, Any]) -> Iterator[Proposal | None]:
    """The list with that one once more, with another tile."""
    view, module = at.view, at.view.kernel.module
    constants = {n: v for n, v in chosen.items() if n not in OPTIONS}
    options = {n: chosen.get(n, v) for n, v in OPTIONS.items()}
    if not all(type(v) in (int, bool) for v in constants.values()) or options["maxnreg"] is not None:
        return
    present = {n: constants[n] for n in covered(view, view.launches[0] if view.launches else None) if type(constants.get(n)) is int}
    warps, stages = int(options["num_warps"]), int(options["num_stages"])
    there = _members(made)
    for tile in islice((t for t in candidates(view, present, warps, stages) if _whole(t, constants, stages) not in there), LIMIT):
        new = _written({**constants, **tile.blocks}, {**options, **options_of(tile, warps, stages)})
        beside = ", as one more configuration to choose from"
        yield make(at, tile, _appended(module, made, new), where={"config": ADDED}, present=present, options=(warps, stages), beside=beside)


def _list(view: View) -> ast.expr | None:
    """What is given as ``configs`` above the kernel; None where it isn't told which is the tuner's, or it holds no configurations."""
    given = [_configs(d) for d in view.kernel.node.decorator_list if isinstance(d, ast.Call)]
    found = [node for node in given if node is not None]
    return found[0] if len(found) == 1 and not isinstance(found[0], ast.Constant | ast.Dict) else None


def _configs(decorator: ast.Call) -> ast.expr | None:
    named = next((k.value for k in decorator.keywords if k.arg == "configs"), None)
    tunes = ast.unparse(decorator.func).rpartition(".")[2] == "autotune"
    return named if named is not None or not tunes or not decorator.args else decorator.args[0]


def _most(view: View) -> Mapping[str, Any] | None:
    """The configuration that most launches of the cases were given."""
    counted = Counter(json.dumps(x["config"], sort_keys=True) for x in view.target_launches if x["config"])
    return json.loads(counted.most_common(1)[0][0]) if counted else None


def _whole(tile: Tile, constants: Mapping[str, Any], stages: int) -> tuple[tuple[str, Any], ...]:
    """A tile as ``_members`` tells configurations."""
    deep = stages if tile.num_stages is None else tile.num_stages
    return tuple(sorted({**constants, **tile.blocks, "num_warps": tile.num_warps, "num_stages": deep}.items()))


def _members(made: ast.expr) -> set[tuple[tuple[str, Any], ...]]:
    """The configurations of a list as far as its text tells them: written out, or comprehensions over values that are written there."""
    found: set[tuple[tuple[str, Any], ...]] = set()
    for node in all_nodes(made):
        if isinstance(node, ast.ListComp) and isinstance(node.elt, ast.Call):
            found |= set(_made(node, node.elt))
        elif isinstance(node, ast.List | ast.Tuple):
            found |= {c for e in node.elts if isinstance(e, ast.Call) and (c := _told(e, {})) is not None}
    return found


def _made(made: ast.ListComp, config: ast.Call) -> Iterator[tuple[tuple[str, Any], ...]]:
    names: list[str] = []
    values: list[Sequence[Any]] = []
    for over in made.generators:
        each = over.iter.elts if isinstance(over.iter, ast.List | ast.Tuple) else []
        if over.ifs or not each or not all(isinstance(e, ast.Constant) for e in each):
            return
        values.append([e.value for e in each if isinstance(e, ast.Constant)])
        names.append(ast.unparse(over.target))
    for each in product(*values):
        told = _told(config, dict(zip(names, each, strict=True)))
        if told is not None:
            yield told


def _told(config: ast.Call, known: Mapping[str, Any]) -> tuple[tuple[str, Any], ...] | None:
    """Constants, warps and stages of ``triton.Config({...}, ...)``; None where one of them isn't told."""
    given = config.args[0] if config.args else next((k.value for k in config.keywords if k.arg == "kwargs"), None)
    if not isinstance(given, ast.Dict) or len(config.args) > 1:
        return None
    parts: list[tuple[Any, ast.expr]] = [("num_warps", ast.Constant(4)), ("num_stages", ast.Constant(3))]
    parts += [(k.value, v) for k, v in zip(given.keys, given.values, strict=True) if isinstance(k, ast.Constant)]
    parts += [(k.arg, k.value) for k in config.keywords if k.arg in ("num_warps", "num_stages")]
    told: dict[str, Any] = {}
    for name, value in parts:
        if isinstance(value, ast.Name) and value.id in known:
            told[str(name)] = known[value.id]
        elif isinstance(value, ast.Constant):
            told[str(name)] = value.value
        else:
            return None
    return tuple(sorted(told.items()))


def _written(constants: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    inside = ", ".join(f'"{name}": {value!r}' for name, value in constants.items())
    given = [f"{name}={value}" for name, value in options.items() if value is not None and (name != "num_ctas" or value != 1)]
    return f"triton.Config({', '.join([f'{{{inside}}}', *given])})"


def _appended(module: Module, made: ast.expr, new: str) -> Edits:
    """What is surely a list is added to; of anything else, a tuple too, a list is made."""
    span = module.span(made)
    items = module.add_elements(made, [new]) if isinstance(made, ast.List) else None
    if items is not None:
        return [(module.path, e) for e in items]
    if isinstance(made, ast.ListComp | ast.List) or (isinstance(made, ast.BinOp) and isinstance(made.op, ast.Add)):
        return [(module.path, Edit(Span(span.end, span.end), f" + [{new}]"))]
    opens, closes = ("", "") if isinstance(made, ast.Name | ast.Call | ast.Attribute | ast.Subscript) else ("(", ")")
    return [
        (module.path, Edit(Span(span.start, span.start), f"[*{opens}")),
        (module.path, Edit(Span(span.end, span.end), f"{closes}, {new}]")),
    ]
