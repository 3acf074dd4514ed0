"""A serving window's launcher calls, replayed: what the host spends, and which of two checkouts spends less."""
