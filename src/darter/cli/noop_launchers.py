"""Launchers that do nothing, with the argument lists that launch costs are measured on, and empty Python twins.

S has 3 tensors, an integer and a stream; M has 8 tensors, 6 integers and 2 constexprs; L has 14 tensors and 8 integers.
One block of one warp runs an empty kernel that is given every argument.
"""

import darter as dt


@dt.kernel
def small_kernel(
    t0: dt.Tensor,
    t1: dt.Tensor,
    t2: dt.Tensor,
    n0: dt.Int64,
):
    pass


@dt.jit
def small(
    t0: dt.Tensor,
    t1: dt.Tensor,
    t2: dt.Tensor,
    n0: dt.Int64,
    stream: dt.Stream = None,
):
    small_kernel(t0, t1, t2, n0).launch(grid=1, block=32, stream=stream)


def small_python(
    t0,
    t1,
    t2,
    n0,
    stream=None,
):
    """An empty Python function with the arguments of ``small``."""


@dt.kernel
def medium_kernel(
    t0: dt.Tensor,
    t1: dt.Tensor,
    t2: dt.Tensor,
    t3: dt.Tensor,
    t4: dt.Tensor,
    t5: dt.Tensor,
    t6: dt.Tensor,
    t7: dt.Tensor,
    n0: dt.Int64,
    n1: dt.Int64,
    n2: dt.Int64,
    n3: dt.Int64,
    n4: dt.Int64,
    n5: dt.Int64,
    C0: dt.Constexpr[int],
    C1: dt.Constexpr[int],
):
    pass


@dt.jit
def medium(
    t0: dt.Tensor,
    t1: dt.Tensor,
    t2: dt.Tensor,
    t3: dt.Tensor,
    t4: dt.Tensor,
    t5: dt.Tensor,
    t6: dt.Tensor,
    t7: dt.Tensor,
    n0: dt.Int64,
    n1: dt.Int64,
    n2: dt.Int64,
    n3: dt.Int64,
    n4: dt.Int64,
    n5: dt.Int64,
    C0: dt.Constexpr[int],
    C1: dt.Constexpr[int],
):
    medium_kernel(t0, t1, t2, t3, t4, t5, t6, t7, n0, n1, n2, n3, n4, n5, C0, C1).launch(grid=1, block=32)


def medium_python(
    t0,
    t1,
    t2,
    t3,
    t4,
    t5,
    t6,
    t7,
    n0,
    n1,
    n2,
    n3,
    n4,
    n5,
    C0,
    C1,
):
    """An empty Python function with the arguments of ``medium``."""


@dt.kernel
def large_kernel(
    t0: dt.Tensor,
    t1: dt.Tensor,
    t2: dt.Tensor,
    t3: dt.Tensor,
    t4: dt.Tensor,
    t5: dt.Tensor,
    t6: dt.Tensor,
    t7: dt.Tensor,
    t8: dt.Tensor,
    t9: dt.Tensor,
    t10: dt.Tensor,
    t11: dt.Tensor,
    t12: dt.Tensor,
    t13: dt.Tensor,
    n0: dt.Int64,
    n1: dt.Int64,
    n2: dt.Int64,
    n3: dt.Int64,
    n4: dt.Int64,
    n5: dt.Int64,
    n6: dt.Int64,
    n7: dt.Int64,
):
    pass


@dt.jit
def large(
    t0: dt.Tensor,
    t1: dt.Tensor,
    t2: dt.Tensor,
    t3: dt.Tensor,
    t4: dt.Tensor,
    t5: dt.Tensor,
    t6: dt.Tensor,
    t7: dt.Tensor,
    t8: dt.Tensor,
    t9: dt.Tensor,
    t10: dt.Tensor,
    t11: dt.Tensor,
    t12: dt.Tensor,
    t13: dt.Tensor,
    n0: dt.Int64,
    n1: dt.Int64,
    n2: dt.Int64,
    n3: dt.Int64,
    n4: dt.Int64,
    n5: dt.Int64,
    n6: dt.Int64,
    n7: dt.Int64,
):
    large_kernel(t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, n0, n1, n2, n3, n4, n5, n6, n7).launch(
        grid=1, block=32
    )


def large_python(
    t0,
    t1,
    t2,
    t3,
    t4,
    t5,
    t6,
    t7,
    t8,
    t9,
    t10,
    t11,
    t12,
    t13,
    n0,
    n1,
    n2,
    n3,
    n4,
    n5,
    n6,
    n7,
):
    """An empty Python function with the arguments of ``large``."""
