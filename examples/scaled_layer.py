"""A kernel and a launcher as methods: fields declared Constexpr are compile-time values of the layer."""

from dataclasses import dataclass

import darter as dt


@dataclass(frozen=True)
class ScaledLayer:
    """Clamps to ±limit and scales; an instance with other fields is another specialisation."""

    limit: dt.Constexpr[float]
    scale: dt.Constexpr[float]
    block: dt.Constexpr[int] = 256

    @dt.kernel
    def clamp_kernel(self, x: dt.Tensor, out: dt.Tensor, n: dt.Int64):
        i = dt.block_idx.x * self.block + dt.thread_idx.x
        if i < n:
            out[i] = max(min(x[i], self.limit), -self.limit) * self.scale

    @dt.jit
    def __call__(self, x: dt.Tensor["n"], out: dt.Tensor["n"], stream: dt.Stream = None):
        n = x.shape[0]
        self.clamp_kernel(x, out, n).launch(grid=dt.cdiv(n, self.block), block=self.block, stream=stream)
