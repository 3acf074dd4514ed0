"""Numbers: their types where they meet, operators, casts; Python numbers, which take the type of what they meet."""
