"""What LLVM must never be left to do: call a library, or meet text that it refuses."""

from __future__ import annotations

import pytest

from darter.codegen.common.text import ModuleText
from darter.codegen.llvm import emit_object, undefined_symbols
from darter.errors import CodegenError
from darter.target import Target

_TARGET = Target("cpu", "x86-64-v3", "", 32)


def test_a_library_call_without_a_declaration_is_found_in_the_object() -> None:
    text = "define bfloat @f(float %x) {\n  %y = fptrunc float %x to bfloat\n  ret bfloat %y\n}\n"
    with pytest.raises(CodegenError, match="__truncsfbf2, which nothing defines"):
        emit_object(text, _TARGET)


def test_text_that_llvm_refuses_is_a_defect_of_ours() -> None:
    with pytest.raises(CodegenError, match="LLVM refuses"):
        emit_object("define void @f() { ret i32 0 }", _TARGET)


def test_undefined_symbols_are_those_that_others_must_define() -> None:
    text = "declare void @darter_message()\ndefine void @f() {\n  call void @darter_message()\n  ret void\n}\n"
    assert undefined_symbols(emit_object(text, _TARGET)) == {"darter_message"}


def test_intrinsics_off_the_list_are_refused() -> None:
    with pytest.raises(CodegenError, match=r"llvm\.exp is not on the whitelist"):
        ModuleText().intrinsic("llvm.exp", "f32", "float", ("float",))


def test_two_compiles_give_the_same_object() -> None:
    text = "define i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n"
    assert emit_object(text, _TARGET) == emit_object(text, _TARGET)
