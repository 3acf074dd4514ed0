"""Static extents: what a contract fixes is baked in like the layout of an explicit argument."""

from __future__ import annotations

from darter.frozen import replaced
from darter.signature.descriptor import Descriptor, Layout, TensorFacts


def with_fixed_extents(descriptor: Descriptor, dims: tuple[int | str | None, ...] | None) -> Descriptor:
    """Return a tensor's facts with the extents that its contract fixes as static ones."""
    if not isinstance(descriptor, TensorFacts) or dims is None or not any(isinstance(dim, int) for dim in dims):
        return descriptor
    rank = descriptor.rank
    layout = descriptor.layout or Layout((None,) * rank, (None,) * rank, (1,) * rank, (1,) * rank)
    shape = tuple(dim if isinstance(dim, int) else known for dim, known in zip(dims, layout.shape, strict=True))
    divisors = tuple(
        1 if extent is not None else divisor for extent, divisor in zip(shape, layout.shape_divisors, strict=True)
    )
    return replaced(descriptor, layout=replaced(layout, shape=shape, shape_divisors=divisors))
