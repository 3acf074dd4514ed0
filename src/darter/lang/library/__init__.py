"""The device library: what is commonly composed, written in darter itself; code generation knows none of it."""
