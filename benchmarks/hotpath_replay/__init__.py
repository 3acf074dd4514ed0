"""A serving window's launcher calls, replayed anywhere: what the host spends, and which of two checkouts spends less."""
