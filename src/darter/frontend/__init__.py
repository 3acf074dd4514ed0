"""Python AST to typed IR: a staged interpreter that folds what is static and emits what is not.

Where to read first, each with its neighbours::

    trace          the entry; tracer, frame, values: its state; finish: its last step
    interpreter    statements; branches, merging, loops, unrolling: what a condition or a loop does to values; raising
    expressions    comprehensions; operators, promotion, casts: numbers; access, tensors: memory; attributes, names
    calls          what a call means; builtin_calls, intrinsics (memory_, warp_), methods, structs
    static_python  what runs at compile time; static_operators
    launcher       what a launch does; kernels, parameters, describe, layouts, overlap: its kernel and arguments
    diagnostics    how a message looks
"""
