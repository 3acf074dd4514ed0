"""Python AST to typed IR: a staged interpreter that folds what is static and emits what is not.

Where to read first, each with its neighbours::

    trace          the entry; tracer, frame, values: its state; parameters, layouts: what it starts from; finish
    interpreter    statements; flow/: what a condition or a loop does to values
    expressions    comprehensions; numbers/: operators, promotion, casts; access, tensors: memory; attributes, names
    calls/         what a call means: functions, builtins, intrinsics, methods; structs, structure: compound values
    static_python  what runs at compile time
    launches/      what a launch does: its kernel, its arguments
    diagnostics    how a message looks
"""
