"""What a condition or a loop does to values: both sides merged, iterations carried or unrolled, early exits."""
