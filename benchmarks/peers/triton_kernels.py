"""The kernel that does nothing, for Triton; it reads a kernel's text from its file."""

import triton


@triton.jit
def small(t0, t1, t2, n0):
    pass


@triton.jit
def medium(t0, t1, t2, t3, t4, t5, t6, t7, n0, n1, n2, n3, n4, n5):
    pass


@triton.jit
def large(t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, n0, n1, n2, n3, n4, n5, n6, n7):
    pass


KERNELS = {"S": small, "M": medium, "L": large}
