"""Launchers whose kernels do nothing and yet take every argument: a pointer per tensor, and the integers.

The argument lists are those of ``noop_launchers``.  A kernel's unused parameters are not passed at all, and a launch
that is compared with the driver's own must pass them; the condition never holds.
"""

import darter as dt


@dt.kernel
def small_kernel(
    t0: dt.Tensor,
    t1: dt.Tensor,
    t2: dt.Tensor,
    n0: dt.Int64,
):
    if n0 < 0:
        t0[1, 0] = t1[0, 0]
        t0[2, 0] = t2[0, 0]
        t0[0, 0] = dt.Float32(n0)


@dt.jit
def small(
    t0: dt.Tensor,
    t1: dt.Tensor,
    t2: dt.Tensor,
    n0: dt.Int64,
    stream: dt.Stream = None,
):
    small_kernel(t0, t1, t2, n0).launch(grid=1, block=32, stream=stream)


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
    if n0 < 0:
        t0[1, 0] = t1[0, 0]
        t0[2, 0] = t2[0, 0]
        t0[3, 0] = t3[0, 0]
        t0[4, 0] = t4[0, 0]
        t0[5, 0] = t5[0, 0]
        t0[6, 0] = t6[0, 0]
        t0[7, 0] = t7[0, 0]
        t0[0, 0] = dt.Float32(n0)
        t0[0, 1] = dt.Float32(n1)
        t0[0, 2] = dt.Float32(n2)
        t0[0, 3] = dt.Float32(n3)
        t0[0, 4] = dt.Float32(n4)
        t0[0, 5] = dt.Float32(n5)


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
    if n0 < 0:
        t0[1, 0] = t1[0, 0]
        t0[2, 0] = t2[0, 0]
        t0[3, 0] = t3[0, 0]
        t0[4, 0] = t4[0, 0]
        t0[5, 0] = t5[0, 0]
        t0[6, 0] = t6[0, 0]
        t0[7, 0] = t7[0, 0]
        t0[8, 0] = t8[0, 0]
        t0[9, 0] = t9[0, 0]
        t0[10, 0] = t10[0, 0]
        t0[11, 0] = t11[0, 0]
        t0[12, 0] = t12[0, 0]
        t0[13, 0] = t13[0, 0]
        t0[0, 0] = dt.Float32(n0)
        t0[0, 1] = dt.Float32(n1)
        t0[0, 2] = dt.Float32(n2)
        t0[0, 3] = dt.Float32(n3)
        t0[0, 4] = dt.Float32(n4)
        t0[0, 5] = dt.Float32(n5)
        t0[0, 6] = dt.Float32(n6)
        t0[0, 7] = dt.Float32(n7)


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
