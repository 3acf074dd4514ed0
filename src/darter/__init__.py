"""darter: a kernel JIT whose plain launch costs what the driver costs, that is never stale, and that says why it compiled."""
