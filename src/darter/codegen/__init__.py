"""IR to code: ``common`` writes LLVM text, ``cpu`` (and each GPU target) lowers kernels to it, ``llvm`` emits it."""
