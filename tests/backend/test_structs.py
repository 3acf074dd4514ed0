"""Structs, register arrays and users' own arguments, on each backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import darter as dt
from tests.backend.single_kernel import BLOCK

pytestmark = pytest.mark.usefixtures("backend")


class Affine(NamedTuple):
    scale: dt.Float32
    shift: dt.Float32


@dataclass(frozen=True)
class Point:
    x: Any
    y: Any

    def turned(self):
        return Point(self.y, -self.x)


@dt.kernel
def structs(x: dt.Tensor, out: dt.Tensor, affine: Affine):
    i = dt.thread_idx.x
    point = Point(x[i], affine.scale)
    if i % 2 == 0:
        point = point.turned()
    values = dt.array(dt.f32, 2, 0.0)
    values[0] = point.x
    values[1] = point.y * affine.shift
    out[i] = values[0] + values[1]


@dt.jit
def launch_structs(x: dt.Tensor, out: dt.Tensor, affine: Affine):
    structs(x, out, affine).launch(grid=1, block=BLOCK)


def test_structs_and_register_arrays() -> None:
    x = np.arange(BLOCK, dtype=np.float32)
    out = np.zeros_like(x)
    launch_structs(x, out, Affine(2.0, 3.0))
    np.testing.assert_array_equal(out, np.where(np.arange(BLOCK) % 2 == 0, 2 - 3 * x, x + 6))


class Tiles:
    """A user's own argument: how a row is cut, and a table that goes with it."""

    __jit_fields__ = ("table",)
    table: dt.Tensor

    def __init__(self, width: int, table: Any) -> None:
        self.width, self.table = width, table

    def __cache_signature__(self) -> Any:
        return ("tiles", self.width)


def tile_sum(tiles, x, i):
    total = tiles.table[i]
    for j in dt.static_range(tiles.__cache_signature__()[1]):
        total = total + x[i + j]
    return total


@dt.kernel
def tiled(x: dt.Tensor, out: dt.Tensor, tiles: Tiles):
    i = dt.thread_idx.x * tiles.__cache_signature__()[1]
    if i < x.shape[0]:
        out[i] = tile_sum(tiles, x, i)


@dt.jit
def launch_tiled(x: dt.Tensor, out: dt.Tensor, tiles: Tiles):
    width = tiles.__cache_signature__()[1]
    tiled(x, out, tiles).launch(grid=1, block=BLOCK // width)


def test_kernels_read_the_signature_of_a_users_argument() -> None:
    x = np.arange(BLOCK, dtype=np.float32)
    for width in (2, 4):
        out = np.zeros_like(x)
        launch_tiled(x, out, Tiles(width, np.full_like(x, 100)))
        np.testing.assert_array_equal(out[::width], x.reshape(-1, width).sum(1) + 100)
