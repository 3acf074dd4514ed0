"""Positions, barriers, shuffles, votes, assertions and prints for NVPTX.

Source: NVVM IR specification, "Intrinsic Functions"; PTX ISA 8.7, "shfl.sync", "vote.sync"; CUDA C++ Programming Guide,
"Formatted Output" for the argument buffer of ``vprintf``.
"""

from __future__ import annotations

from darter.artifacts.artifact import DeviceMessage
from darter.codegen.common import numbers
from darter.codegen.common.types import register_type
from darter.codegen.nvptx.arithmetic import cast
from darter.codegen.nvptx.context import Context
from darter.dtypes import Bool, Float64, Int64, ScalarType, UInt64
from darter.ir import nodes as ir

_AXES = "xyz"
_FULL_MASK = 0xFFFFFFFF
ASSERT_RECORDS = 64
"""Records of native/cuda/cuda_context.hpp's AssertBuffer: 64 bytes of head, then records of 96 bytes."""
ASSERT_HEAD_BYTES = 64
ASSERT_RECORD_BYTES = 96
MAX_ASSERT_OPERANDS = 8


def special_register(context: Context, name: str) -> str:
    """Return a special register, read once at the start of the kernel."""
    context.module.declare(f"llvm.nvvm.read.ptx.sreg.{name}", f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}()")
    return context.text.preamble(f"call i32 @llvm.nvvm.read.ptx.sreg.{name}()")


def linear_thread(context: Context) -> str:
    """Return the thread's number in its block, x first."""
    lanes, (bx, by, bz) = context.lanes, context.kernel.block
    number = special_register(context, "tid.x")
    if by > 1:
        row = lanes.op("mul", "i32", special_register(context, "tid.y"), str(bx))
        number = lanes.op("add", "i32", number, row)
    if bz > 1:
        plane = lanes.op("mul", "i32", special_register(context, "tid.z"), str(bx * by))
        number = lanes.op("add", "i32", number, plane)
    return number


def emit_read_index(context: Context, node: ir.ReadIndex) -> None:
    lanes, axis = context.lanes, _AXES[node.axis]
    match node.index:
        case ir.Index.THREAD_IDX:
            result = special_register(context, f"tid.{axis}") if context.kernel.block[node.axis] > 1 else "0"
        case ir.Index.BLOCK_IDX:
            result = lanes.convert("zext", "i32", "i64", special_register(context, f"ctaid.{axis}"))
        case ir.Index.GRID_DIM:
            result = lanes.convert("zext", "i32", "i64", special_register(context, f"nctaid.{axis}"))
        case ir.Index.LANE_ID:
            result = lanes.op("and", "i32", linear_thread(context), "31")
        case ir.Index.WARP_ID:
            result = lanes.op("lshr", "i32", linear_thread(context), "5")
    context.define(node.result, result)


def emit_barrier(context: Context, node: ir.Barrier) -> None:
    context.call("llvm.nvvm.barrier.cta.sync.aligned.all", "void", ("i32", "0"))


def member_mask(context: Context) -> str:
    """Return the lanes of the warp that exist: the last warp of a block may be partial."""
    rest = context.kernel.threads % 32
    if rest == 0:
        return str(_FULL_MASK - (1 << 32))
    lanes, last = context.lanes, context.kernel.threads // 32
    is_last = lanes.compare("eq", "i32", lanes.op("lshr", "i32", linear_thread(context), "5"), str(last))
    return lanes.select("i32", is_last, str((1 << rest) - 1), "-1")


def emit_shuffle(context: Context, node: ir.Shuffle) -> None:
    dtype, value, lane = node.value.dtype, context.read(node.value), context.read(node.lane)
    element, lanes = register_type(dtype), context.lanes
    if dtype.bits != 64:
        # f16 and bf16 live in f32 registers, so every narrow type is one 32-bit word here.
        word = lanes.convert("bitcast", element, "i32", value) if dtype.is_float else value
        moved = _shuffle_word(context, node.mode, word, lane)
        context.define(node.result, lanes.convert("bitcast", "i32", element, moved) if dtype.is_float else moved)
        return
    wide = lanes.convert("bitcast", element, "i64", value) if dtype.is_float else value
    low = lanes.convert("trunc", "i64", "i32", wide)
    high = lanes.convert("trunc", "i64", "i32", lanes.op("lshr", "i64", wide, "32"))
    parts = [_shuffle_word(context, node.mode, part, lane) for part in (low, high)]
    low, high = (lanes.convert("zext", "i32", "i64", part) for part in parts)
    joined = lanes.op("or", "i64", low, lanes.op("shl", "i64", high, "32"))
    context.define(node.result, lanes.convert("bitcast", "i64", element, joined) if dtype.is_float else joined)


def _shuffle_word(context: Context, mode: ir.ShuffleMode, word: str, lane: str) -> str:
    name = {"index": "idx", "xor": "bfly", "up": "up", "down": "down"}[mode.value]
    clamp = "0" if mode is ir.ShuffleMode.UP else "31"
    arguments = (("i32", member_mask(context)), ("i32", word), ("i32", lane), ("i32", clamp))
    return context.call(f"llvm.nvvm.shfl.sync.{name}.i32", "i32", *arguments)


def emit_vote(context: Context, node: ir.Vote) -> None:
    arguments = (("i32", member_mask(context)), ("i1", context.read(node.predicate)))
    if node.mode is ir.VoteMode.BALLOT:
        bits = context.call("llvm.nvvm.vote.ballot.sync", "i32", *arguments)
        context.define(node.result, context.lanes.convert("zext", "i32", "i64", bits))
        return
    context.define(node.result, context.call(f"llvm.nvvm.vote.{node.mode.value}.sync", "i1", *arguments))


# -- talking to the host ----------------------------------------------------------------------------------------------


def emit_assert(context: Context, node: ir.Assert) -> None:
    """Record a failed condition in the context's assert buffer; the next launch or synchronise raises it."""
    text = context.text
    message = len(context.messages)
    operands = node.operands[:MAX_ASSERT_OPERANDS]
    codes = tuple(operand.dtype.code for operand in operands)
    pieces = tuple(node.message.split("{}")) if operands else (node.message,)
    context.messages.append(DeviceMessage(True, pieces, codes, node.loc.function, node.loc.line, node.loc.column))
    failed, done = text.fresh_label("failed"), text.fresh_label("held")
    text.branch(context.read(node.condition), done, failed)
    text.begin(failed)
    slot = text.value("atomicrmw add ptr %asserts, i32 1 monotonic")
    record, full = text.fresh_label("record"), done
    text.branch(text.value(f"icmp ult i32 {slot}, {ASSERT_RECORDS}"), record, full)
    text.begin(record)
    _write_record(context, slot, message, operands)
    text.jump(done)
    text.begin(done)


def _write_record(context: Context, slot: str, message: int, operands: tuple[ir.Value, ...]) -> None:
    text, lanes = context.text, context.lanes
    offset = lanes.op("add", "i32", lanes.op("mul", "i32", slot, str(ASSERT_RECORD_BYTES)), str(ASSERT_HEAD_BYTES))
    base = text.value(f"getelementptr i8, ptr %asserts, i32 {offset}")

    def put(byte: int, type: str, value: str) -> None:
        place = text.value(f"getelementptr i8, ptr {base}, i32 {byte}")
        text.line(f"store {type} {value}, ptr {place}, align {4 if type == 'i32' else 8}")

    put(4, "i32", str(message))
    put(8, "i64", "%owner")
    put(16, "i64", _linear_block(context))
    put(24, "i64", lanes.convert("zext", "i32", "i64", linear_thread(context)))
    for index, operand in enumerate(operands):
        put(32 + 8 * index, "i64", _bits(context, operand))
    context.effect("fence.acq_rel.sys;")
    text.line(f"store atomic i32 1, ptr {base} monotonic, align 4")


def _linear_block(context: Context) -> str:
    lanes = context.lanes
    x, y, z = (lanes.convert("zext", "i32", "i64", special_register(context, f"ctaid.{axis}")) for axis in _AXES)
    gx, gy = (lanes.convert("zext", "i32", "i64", special_register(context, f"nctaid.{axis}")) for axis in "xy")
    plane = lanes.op("add", "i64", y, lanes.op("mul", "i64", gy, z))
    return lanes.op("add", "i64", x, lanes.op("mul", "i64", gx, plane))


def _bits(context: Context, operand: ir.Value) -> str:
    """Return an operand's bits in the low bytes of an i64, as registers of a launch program hold them."""
    dtype, value, lanes = operand.dtype, context.read(operand), context.lanes
    word = numbers.to_memory(lanes, dtype, value, True)
    if dtype.is_float and dtype.bits >= 32:
        word = lanes.convert("bitcast", register_type(dtype), f"i{dtype.bits}", word)
    return word if dtype.bits == 64 else lanes.convert("zext", f"i{dtype.bits}", "i64", word)


def emit_print(context: Context, node: ir.Print) -> None:
    """Print through the driver's ``vprintf``; the driver writes the text out at the next synchronisation."""
    text = context.text
    formats = [_print_form(operand.dtype) for operand in node.operands]
    pieces = [piece.replace("%", "%%") for piece in node.pieces]
    template = pieces[0] + "".join(form + piece for (form, _), piece in zip(formats, pieces[1:], strict=True)) + "\n"
    data = template.encode() + b"\0"
    escaped = "".join(f"\\{byte:02X}" for byte in data)
    context.prints += 1
    name = f"{context.symbol}.print{context.prints}"
    context.module.constant(name, f'[{len(data)} x i8] c"{escaped}"')
    buffer = text.preamble(f"alloca [{max(1, len(formats))} x i64], align 8")
    for index, (operand, (_, wide)) in enumerate(zip(node.operands, formats, strict=True)):
        place = text.value(f"getelementptr i64, ptr {buffer}, i32 {index}")
        text.line(f"store {wide} {_widened(context, operand, wide)}, ptr {place}, align 8")
    context.call("vprintf", "i32", ("ptr", f"@{name}"), ("ptr", buffer))


def _print_form(dtype: ScalarType) -> tuple[str, str]:
    if dtype.is_float:
        return "%.9g", "double"
    return ("%lld" if dtype.is_signed else "%llu"), "i64"


def _widened(context: Context, operand: ir.Value, wide: str) -> str:
    if wide == "double":
        return cast(context, operand.dtype, Float64, context.read(operand))
    target = Int64 if operand.dtype.is_signed or operand.dtype is Bool else UInt64
    return cast(context, operand.dtype, target, context.read(operand))
