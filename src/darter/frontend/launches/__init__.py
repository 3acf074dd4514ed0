"""What a launcher does: it computes grids, and launches kernels with descriptors of what it has."""
