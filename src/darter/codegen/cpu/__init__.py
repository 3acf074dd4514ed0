"""CPU code: a warp is a vector, a block runs its warps one after the other, barriers cut the code into regions.

``compile_kernels`` makes one object of a module's kernels, ``llvm_text`` shows what LLVM is given.
"""

from darter.codegen.cpu.compile import compile_kernels, llvm_text

__all__ = ["compile_kernels", "llvm_text"]
