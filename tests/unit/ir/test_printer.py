"""The text of IR is readable and the same for the same structure."""

from __future__ import annotations

from darter.dtypes import f32, i64
from darter.ir import nodes as n
from darter.ir.printer import print_kernel, print_module
from tests.ir_builder import Builder, pointer_type


def _sum_kernel() -> n.Kernel:
    b = Builder()
    x, out, count = n.Value(pointer_type(f32), "x"), n.Value(pointer_type(f32), "x"), n.Value(i64, "n")
    start = b.cast(i64, b.index(n.Index.THREAD_IDX))
    b.loc = n.Loc(0, 3, 8, 3, 20)
    step = b.const(i64, 64)
    (total,) = b.for_(start, count, step, [b.const(f32, 0.0)], lambda k, a: [b.add(a, b.load(x, k))])
    inside = b.compare(n.CompareOp.LT, start, count)
    b.loc = n.NOWHERE
    b.if_(inside, lambda: b.store(out, start, total), why="return in line 2")
    b.barrier()
    return n.Kernel("sum", (x, out, count), b.block, (64, 1, 1), 32)


TEXT = """\
kernel sum(%x: ptr<f32, global>, %x.1: ptr<f32, global>, %n: i64) block=(64, 1, 1) warp=32 {
  %thread_idx: i32 = thread_idx.x
  %0: i64 = cast %thread_idx
  %1: i64 = const 64  ; 0:3:8
  %2: f32 = const 0.0  ; 0:3:8
  %6: f32 = for (%k: i64, %3: f32) in range(%0, %n, %1) from (%2) {  ; 0:3:8
    %4: f32 = load %x[%k] align 4  ; 0:3:8
    %5: f32 = add %3, %4  ; 0:3:8
    yield %5
  }
  %7: bool = lt %0, %n  ; 0:3:8
  if %7 {  # return in line 2
    store %x.1[%0] = %6 align 4
  }
  barrier
}
"""


def test_the_text_of_a_kernel() -> None:
    assert print_kernel(_sum_kernel()) == TEXT


def test_a_module_prints_its_launcher_and_kernels() -> None:
    x = n.Value(pointer_type(f32), "x")
    b = Builder()
    grid = b.const(i64, 4)
    b.append(n.Launch(0, (x, x, grid), (grid, grid, grid), grid, n.LaunchOptions()))
    module = n.Module("launcher", (x,), b.block, [_sum_kernel()], [n.FunctionName("launcher", "model")])
    head = """\
function 0: model.launcher
launcher launcher(%x: ptr<f32, global>) {
  %0: i64 = const 4
  launch 0(%x, %x, %0) grid (%0, %0, %0) shared %0
}

"""
    assert print_module(module) == head + TEXT
