"""What every target's code generator shares: LLVM text, types, constants, numbers and mathematics."""
