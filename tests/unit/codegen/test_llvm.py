"""What LLVM must never be left to do: call a library, or meet text that it refuses."""

from __future__ import annotations

import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

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


def test_a_fork_waits_for_llvm_and_the_child_can_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    at_work, finish = threading.Event(), threading.Event()

    def slow(module: object, machine: object) -> None:
        at_work.set()
        finish.wait(30)

    text = "define i32 @f(i32 %x) {\n  ret i32 %x\n}\n"
    emit_object(text, _TARGET)
    with monkeypatch.context() as patch, ThreadPoolExecutor(1) as pool:
        patch.setattr("darter.codegen.llvm._optimise", slow)
        compiling = pool.submit(emit_object, text, _TARGET)
        assert at_work.wait(30)
        threading.Timer(0.1, finish.set).start()
        with warnings.catch_warnings():  # CPython 3.12 warns about the threads that a child loses
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os._exit(0 if finish.is_set() and emit_object(text, _TARGET) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert compiling.result(30)
