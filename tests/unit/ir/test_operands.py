"""The tables of operands and results know every field of every node."""

from __future__ import annotations

import dataclasses

from darter.dtypes import Bool
from darter.ir import nodes as n
from darter.ir.operands import operands_of, results_of, walk
from tests.property.kernel_generator import generate


def _fields(node: n.Node, *, results: bool) -> list[n.Value]:
    values = []
    for field in dataclasses.fields(node):
        if (field.name in ("result", "results")) is results:
            item = getattr(node, field.name)
            items = item if isinstance(item, tuple) else (item,)
            values += [each for each in items if isinstance(each, n.Value)]
    return values


def test_operands_and_results_are_the_values_in_the_fields() -> None:
    kinds = set()
    for seed in range(40):
        for node in walk(generate(seed, 24).kernel.body):
            kinds.add(type(node))
            assert sorted(map(id, operands_of(node))) == sorted(map(id, _fields(node, results=False)))
            assert list(results_of(node)) == _fields(node, results=True)
    value = n.Value(Bool)
    for node in (n.Raise("E", ("", ""), (value,)), n.Launch(0, (value,), (value,) * 3, value, n.LaunchOptions())):
        kinds.add(type(node))
        assert sorted(map(id, operands_of(node))) == sorted(map(id, _fields(node, results=False)))
        assert results_of(node) == ()
    every = {kind for kind in vars(n).values() if isinstance(kind, type) and issubclass(kind, n.Node)}
    assert kinds == every - {n.Node}
