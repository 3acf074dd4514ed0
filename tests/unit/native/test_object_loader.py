"""The loader of CPU objects: real objects load and run, damaged ones are refused, no code is writable."""

from __future__ import annotations

import ctypes
import gc
import random
import struct
from pathlib import Path

import pytest

from darter import _native
from darter.backends.cpu import HOST_FUNCTIONS
from darter.errors import ArtifactError
from tests.c_objects import LOG, PRELUDE, compile_c, load_c

MANY_KINDS = (
    PRELUDE
    + """
static const int table[5] = {7, 11, 13, 17, 19};   // read-only data
static int counter;                                 // zeros
int shared_state = 3;                               // data, reached through the table of addresses
static const char *const words[2] = {"ab", "cd"};   // data that holds addresses
static int twice(int x) { return 2 * x; }
int (*choice)(int) = twice;

__attribute__((noinline)) int jump(int x) {
    switch (x) {
    case 0: return table[1];
    case 1: return counter + 100;
    case 2: return shared_state;
    case 3: return words[1][0];
    case 4: return choice(21);
    case 5: return ++counter;
    default: return -1;
    }
}

double floats(double x) { return x * 2.5 + 0.125; }

long copy(char *to, const char *from, long count) { memset(to, 1, count + 1); memcpy(to, from, count); return count; }
"""
)

Jump = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)


def _maps() -> list[tuple[int, int, str]]:
    """Return the memory of this process: start, end, protection."""
    rows = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, protection, *_ = line.split()
        start, end = span.split("-")
        rows.append((int(start, 16), int(end, 16), protection))
    return rows


def _protection(address: int) -> str | None:
    return next((protection for start, end, protection in _maps() if start <= address < end), None)


@pytest.mark.parametrize("flags", [(), ("-O0",), ("-fno-pic", "-mcmodel=large"), ("-fno-plt",)])
def test_sections_and_relocations_of_many_kinds(flags: tuple[str, ...]) -> None:
    code = _native.load_object(compile_c(MANY_KINDS, *flags), HOST_FUNCTIONS)
    jump = Jump(code.entry("jump"))
    assert [jump(i) for i in (0, 1, 2, 3, 4, 5, 5, 1, 9)] == [11, 100, 3, ord("c"), 42, 1, 2, 102, -1]
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.entry("floats"))(2.0) == 5.125
    target = ctypes.create_string_buffer(8)
    copy = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_long)(code.entry("copy"))
    assert copy(ctypes.addressof(target), b"abc", 3) == 3
    assert target.raw[:5] == b"abc\1\0"


def test_each_load_has_data_of_its_own() -> None:
    first, second = load_c(MANY_KINDS), load_c(MANY_KINDS)
    assert Jump(first.entry("jump"))(5) == 1
    assert Jump(second.entry("jump"))(5) == 1


def test_code_is_never_writable_and_is_unmapped_at_the_end() -> None:
    # Other libraries of the process may have mappings that are both; only what the load adds counts.
    before = set(_maps())
    code = load_c(MANY_KINDS)
    entry = code.entry("jump")
    assert _protection(entry) == "r-xp"
    assert not any("w" in protection and "x" in protection for _, _, protection in set(_maps()) - before)
    assert code.size_bytes % 4096 == 0
    del code
    gc.collect()
    assert _protection(entry) != "r-xp"


def test_an_unknown_entry_is_named() -> None:
    code = load_c(MANY_KINDS)
    for name in ("nothing", "twice", "shared_state"):
        with pytest.raises(ArtifactError, match=f"no function '{name}'"):
            code.entry(name)


@pytest.mark.parametrize(
    ("source", "flags", "why"),
    [
        ('int puts(const char *); int f(void) { return puts(""); }', (), "function 'puts'"),
        ("extern int outside; int f(void) { return outside; }", (), "function 'outside'"),
        ("extern void late(void) __attribute__((weak)); void f(void) { if (late) late(); }", (), "function 'late'"),
        ("_Thread_local int x; int f(void) { return x; }", (), "thread-local|not accepted"),
        ("__attribute__((constructor)) void f(void) {}", (), "section .init_array has a kind"),
        ("int common; int f(void) { return common; }", ("-fcommon",), "symbol 'common' has a kind"),
        (
            "static int g(void) { return 1; } static void *r(void) { return g; }"
            'int f(void) __attribute__((ifunc("r")));',
            (),
            "not accepted",
        ),
        ('__asm__(".section .both,\\"awx\\"\\n.byte 0\\n.text"); void f(void) {}', (), "both writable and executable"),
        ("char big[1 << 30]; char f(void) { return big[5]; }", (), "too large"),
        ("char aligned[64] __attribute__((aligned(8192))) = {1}; void f(void) {}", (), "bad alignment"),
    ],
)
def test_what_kernels_have_no_business_with_is_refused(source: str, flags: tuple[str, ...], why: str) -> None:
    with pytest.raises(ArtifactError, match=why):
        _native.load_object(compile_c(source, *flags), HOST_FUNCTIONS)


def test_only_allowed_host_functions_are_bound() -> None:
    elf = compile_c(MANY_KINDS)
    with pytest.raises(ArtifactError, match=r"function 'mem(cpy|set)'"):
        _native.load_object(elf, ["memmove"])
    with pytest.raises(ValueError, match="'system' is no function that compiled code can call"):
        _native.load_object(elf, ["system"])


@pytest.mark.parametrize(
    ("offset", "value", "why"),
    [
        (0, b"\x7fELG", "no ELF file"),
        (4, b"\x01", "ELF64"),
        (5, b"\x02", "little-endian"),
        (16, struct.pack("<H", 3), "no relocatable object"),
        (18, struct.pack("<H", 243), "machine 243"),
        (40, struct.pack("<Q", 2**64 - 8), "section headers are truncated"),
        (58, struct.pack("<H", 32), "section headers have an unknown size"),
        (60, struct.pack("<H", 0), "number of sections"),
        (62, struct.pack("<H", 999), "string table is missing"),
    ],
)
def test_a_header_that_lies_is_refused(offset: int, value: bytes, why: str) -> None:
    elf = bytearray(compile_c(LOG))
    elf[offset : offset + len(value)] = value
    with pytest.raises(ArtifactError, match=why):
        _native.load_object(bytes(elf), HOST_FUNCTIONS)


def test_a_linked_file_is_refused() -> None:
    with pytest.raises(ArtifactError, match="no relocatable object"):
        _native.load_object(Path(_native.__file__).read_bytes(), HOST_FUNCTIONS)


def _try(elf: bytes) -> bool:
    try:
        _native.load_object(elf, HOST_FUNCTIONS)
    except ArtifactError:
        return False
    return True


def test_no_truncation_loads_or_crashes() -> None:
    elf = compile_c(LOG)
    for length in range(len(elf)):  # the section headers stand at the end
        assert not _try(elf[:length])
    assert _try(elf)


def test_no_flipped_bit_crashes() -> None:
    elf = compile_c(MANY_KINDS)
    generator = random.Random(5)
    loaded = 0
    for _ in range(6000):
        damaged = bytearray(elf)
        for _ in range(generator.choice((1, 1, 1, 3))):
            damaged[generator.randrange(len(elf))] ^= 1 << generator.randrange(8)
        loaded += _try(bytes(damaged))
    assert 0 < loaded < 6000  # bits of code and names are not the loader's to judge
