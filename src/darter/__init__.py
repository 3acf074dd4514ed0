"""darter: a kernel JIT whose launch costs what the driver costs, that is never stale and says why it compiled."""
