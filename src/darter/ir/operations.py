"""What the nodes of the IR can do: the operations by name, with their exact meaning.

``ir.nodes`` offers every name of this module too, so that a pass imports from one place.
"""

from __future__ import annotations

import enum


class Index(enum.Enum):
    """Positions of a thread.  ``THREAD_IDX`` is i32, ``BLOCK_IDX`` and ``GRID_DIM`` are i64; the rest are i32."""

    THREAD_IDX = "thread_idx"
    BLOCK_IDX = "block_idx"
    GRID_DIM = "grid_dim"
    LANE_ID = "lane_id"
    WARP_ID = "warp_id"


class UnaryOp(enum.Enum):
    """``NOT`` is bitwise on integers and logical on Bool; ``ABS`` of the smallest integer wraps.

    The last three count bits of integers: those that are 1, and the zeros above the highest and below the lowest of
    them; 0 has as many zeros as its type has bits.
    """

    NEG = "neg"
    NOT = "not"
    ABS = "abs"
    POPCOUNT = "popcount"
    CLZ = "clz"
    CTZ = "ctz"


BIT_COUNTS = (UnaryOp.POPCOUNT, UnaryOp.CLZ, UnaryOp.CTZ)


class BinaryOp(enum.Enum):
    """Integers wrap.  ``DIV`` is for floats (in a launcher too); ``FLOORDIV`` and ``MOD`` floor, for integers and
    floats.

    In a kernel integer FLOORDIV and MOD by zero give 0 and the smallest integer // -1 wraps; in a launcher both raise.
    ``SHL``/``SHR`` take the amount modulo the width; ``SHR`` is arithmetic for signed types.  ``MIN``/``MAX`` propagate
    NaN.  ``AND``/``OR``/``XOR`` take integers and Bool.  f16 and bf16 round to nearest even after each operation.
    """

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    FLOORDIV = "floordiv"
    MOD = "mod"
    AND = "and"
    OR = "or"
    XOR = "xor"
    SHL = "shl"
    SHR = "shr"
    MIN = "min"
    MAX = "max"


class CompareOp(enum.Enum):
    """Ordered comparisons of IEEE 754: false on NaN, but ``NE`` true."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"


class MathOp(enum.Enum):
    """Functions of f32 and f64 (the front end widens f16 and bf16), named as in C.  Exact: SQRT, FLOOR, CEIL, TRUNC,
    RINT (half to even), FMOD.
    """

    EXP = "exp"
    EXP2 = "exp2"
    LOG = "log"
    LOG2 = "log2"
    SQRT = "sqrt"
    RSQRT = "rsqrt"
    TANH = "tanh"
    ERF = "erf"
    SIN = "sin"
    COS = "cos"
    POW = "pow"
    LOG10 = "log10"
    EXPM1 = "expm1"
    LOG1P = "log1p"
    TAN = "tan"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    ATAN2 = "atan2"
    SINH = "sinh"
    COSH = "cosh"
    ASINH = "asinh"
    ACOSH = "acosh"
    ATANH = "atanh"
    ERFC = "erfc"
    TGAMMA = "tgamma"
    LGAMMA = "lgamma"
    CBRT = "cbrt"
    HYPOT = "hypot"
    FMOD = "fmod"
    FLOOR = "floor"
    CEIL = "ceil"
    TRUNC = "trunc"
    RINT = "rint"


BINARY_MATH = frozenset({MathOp.POW, MathOp.ATAN2, MathOp.HYPOT, MathOp.FMOD})
"""Functions of two numbers; all others take one."""

LIBRARY_MATH = frozenset(
    {
        MathOp.LOG10, MathOp.EXPM1, MathOp.LOG1P, MathOp.TAN, MathOp.ASIN, MathOp.ACOS, MathOp.ATAN, MathOp.ATAN2,
        MathOp.SINH, MathOp.COSH, MathOp.ASINH, MathOp.ACOSH, MathOp.ATANH, MathOp.ERFC, MathOp.TGAMMA, MathOp.LGAMMA,
        MathOp.CBRT, MathOp.HYPOT,
    }
)  # fmt: skip
"""Functions that CUDA's device library gives where it is installed; darter's own sequences serve everywhere else."""


class AtomicOp(enum.Enum):
    """``ADD`` takes i32, u32, i64, u64, f32, f64; ``MAX``/``MIN`` the integers and f32/f64 (NaN propagates); ``CAS``
    and ``EXCHANGE`` 32/64-bit.
    """

    ADD = "add"
    MAX = "max"
    MIN = "min"
    AND = "and"
    OR = "or"
    XOR = "xor"
    EXCHANGE = "exchange"
    CAS = "cas"


class Order(enum.Enum):
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"


class Scope(enum.Enum):
    BLOCK = "block"
    DEVICE = "device"
    SYSTEM = "system"


class ShuffleMode(enum.Enum):
    """``INDEX`` reads lane ``lane mod warp``, ``XOR`` lane^``lane``; ``UP``/``DOWN`` lane∓``lane``, the own value at
    the edge.
    """

    INDEX = "index"
    XOR = "xor"
    UP = "up"
    DOWN = "down"


class VoteMode(enum.Enum):
    """``ANY``, ``ALL`` give Bool; ``BALLOT`` gives u64 (bit of each lane; lanes beyond the block are 0)."""

    ANY = "any"
    ALL = "all"
    BALLOT = "ballot"
