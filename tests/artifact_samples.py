"""Artifacts, keys and manifests to store: small, and different where a test needs them to be."""

from __future__ import annotations

from pathlib import Path

from darter.artifacts.artifact import Artifact, DeviceMessage, KernelEntry
from darter.artifacts.key import KeyRecord, key_record
from darter.artifacts.settings import StoreSettings
from darter.artifacts.store import Build
from darter.ir.encoding import encode
from darter.ir.nodes import FunctionName, LaunchOptions, Loc
from darter.ir.program import Instruction, LaunchSpec, Opcode, Program, RaiseSpec
from darter.target import Target

CPU = Target("cpu", "x86-64-v3", "+avx2", 32)


def settings_for(directory: Path, **changes: object) -> StoreSettings:
    return StoreSettings(str(directory), **changes)  # type: ignore[arg-type]


def sample_key(source: str = "def add(x): ...", function: str = "model:add", **changes: object) -> KeyRecord:
    parts: dict[str, object] = {
        "owner": None,
        "descriptors": (("x", ("tensor", 12, 1, 0, True, False)),),
        "options": (("fast_math", False),),
        "environment": {},
        "target": CPU,
        "toolchain": "0" * 64,
        **changes,
    }
    return key_record(function=function, source=source, **parts)  # type: ignore[arg-type]


def sample_program() -> Program:
    loc = Loc(0, 3, 4, 3, 20)
    return Program(
        slots=3,
        constants=(256, 1 << 63),
        registers=9,
        instructions=(
            Instruction(Opcode.ADD, 5, 5, 1, 3, 0, 0),
            Instruction(Opcode.LAUNCH, 0, 0, 0, 0, 0, 0),
            Instruction(Opcode.RETURN, 0, 0, 0, 0, 0, -1),
        ),
        launches=(LaunchSpec(0, (0, 1), (5, 6, 7), (256, 1, 1), 8, LaunchOptions(), 0),),
        raises=(RaiseSpec("ValueError", ("n is ", ""), ((1, 5),), 0),),
        sites=(loc,),
    )


def sample_artifact(code: bytes = b"\x7fELF object") -> Artifact:
    message = DeviceMessage(True, ("i is ", " of ", ""), (5, 5), 0, 7, 2)
    return Artifact(
        target=CPU,
        program=encode(sample_program()),
        kernels=(
            KernelEntry("add_kernel_0", (0, 0, 5), (256, 1, 1), 0, 128, False, (message,)),
            KernelEntry("add_kernel_1", (), (32, 2, 1), 64, 64, True),
        ),
        code=code,
        functions=(FunctionName("add", "model"), FunctionName("größe.<locals>.f\ud800", "model")),
        written=(2,),
    )


def sample_build(code: bytes = b"\x7fELF object", manifest: bytes = b"manifest") -> Build:
    return Build(manifest, sample_artifact(code))


def entry_files(directory: Path) -> list[Path]:
    """The files of a store that hold entries: not locks and notes, not what is being written."""
    return sorted(
        path
        for path in directory.rglob("*")
        if path.is_file() and path.parent.name not in ("locks", "notes") and path.name[0] != "."
    )
