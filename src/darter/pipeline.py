"""The stages behind a miss, wired here and nowhere else: key, store, front end, code generation, loading, guards."""

from __future__ import annotations

import dataclasses
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from darter import _native
from darter.artifacts.artifact import Artifact
from darter.artifacts.key import KeyRecord, key_record
from darter.artifacts.store import Build, local_store
from darter.artifacts.toolchain import toolchain_digest
from darter.backends import registry
from darter.capture.acceptance import Acceptance
from darter.capture.argument_roots import argument_roots
from darter.capture.fingerprint import code_fingerprint
from darter.config import Config, resolve_steering, steering_variables
from darter.errors import CaptureRaceError
from darter.frozen import Frozen
from darter.ir.options import KernelOptions
from darter.later import later
from darter.launch.launcher import Launcher
from darter.launch.modules import Builds, Modules
from darter.launch.options import JitOptions
from darter.launch.request import BuildRequest, Built
from darter.process_lock import ProcessLock
from darter.signature.keyrecord import canonical
from darter.source.digests import SourceDigests

if TYPE_CHECKING:
    from darter.artifacts import sites as artifact_sites
    from darter.backends.assembler import Assembler
    from darter.capture import recorder as recording
    from darter.frontend import trace as front_end
    from darter.ir import verify as verifier
    from darter.ir.places import Loc
    from darter.launch import dump, sites
else:
    # The stages of a compile, and the places of errors: a launch from disk needs neither.
    recording = later("darter.capture.recorder")
    front_end = later("darter.frontend.trace")
    verifier = later("darter.ir.verify")
    dump = later("darter.launch.dump")
    artifact_sites = later("darter.artifacts.sites")
    sites = later("darter.launch.sites")

RACES = 8
"""Builds that are thrown away, because captured values kept changing meanwhile, before the call gives up."""


def launcher(
    function: types.FunctionType, options: JitOptions, dispatcher: _native.JitFunction, is_method: bool
) -> Launcher:
    """Return the cold side of a launcher whose native half is ``dispatcher``."""
    return Launcher(function, options, _pipeline, dispatcher, is_method)


def unload() -> None:
    """Unload all loaded code, except what a stream capture holds."""
    _pipeline.unload(None)


class _Pipeline:
    """The stages behind a miss, and what this process keeps of them."""

    def __init__(self) -> None:
        self._builds = Builds()
        self._modules = Modules()
        self._keys: dict[types.CodeType, set[bytes]] = {}
        self._lock = ProcessLock()
        self._toolchain: str | None = None

    def build(self, request: BuildRequest, stream: int) -> Built:
        """Return a ready launch, from memory, from disk or from the front end, for a stream that is not captured.

        A build whose captured values changed meanwhile is thrown away and made again.
        """
        if request.device.backend == "cuda":
            registry.refuse_capture(request.device, stream, request.plan.name)
        for _ in range(RACES - 1):
            try:
                return self._build(request)
            except CaptureRaceError:
                continue
        return self._build(request)

    def key(self, request: BuildRequest) -> str:
        """Return the primary key in hexadecimal."""
        return self._key(request, _resolved(request), self._source_digests(request)).digest

    def found(self, request: BuildRequest) -> Literal["memory", "disk"] | None:
        """Return where :meth:`build` would find the request built; loads, compiles and counts nothing."""
        stage = _resolved(request)
        digests = self._source_digests(request)
        key = self._key(request, stage, digests)
        accept = _acceptance(request, stage.variables, digests)
        if self._builds.find(key.data, accept) is not None:
            return "memory"
        return None if local_store().lookup(key, accept, accept.expected) is None else "disk"

    def forget(self, function: types.FunctionType) -> None:
        """Drop what this process keeps of the function's builds; entries on disk stay."""
        with self._lock:
            keys = self._keys.pop(function.__code__, set())
        self.unload([build.artifact for build in self._builds.forget(keys)])

    def unload(self, artifacts: Sequence[Artifact] | None) -> None:
        """Unload the modules of some artifacts, or all."""
        for loaded in self._modules.take(artifacts):
            registry.unload(loaded)

    def _build(self, request: BuildRequest) -> Built:
        stage = _resolved(request)
        digests = self._source_digests(request)
        key = self._key(request, stage, digests)
        accept = _acceptance(request, stage.variables, digests)
        origin = "memory"
        found = self._builds.find(key.data, accept)
        if found is None:
            compiled = False

            def make() -> Build:
                nonlocal compiled
                compiled = True
                return _compile(request, stage)

            found = local_store().obtain(key, accept, make, accept.expected)
            origin = "compile" if compiled else "disk" if found.from_disk else "memory"
            self._keep(request.function, key, found)
        built = self._load(request, stage, found, accept, origin)
        if digests.has_news:
            local_store().remember(_sources_topic(request.function), self._toolchain_digest(), digests.text())
        return built

    def _key(self, request: BuildRequest, stage: _Stage, digests: SourceDigests) -> KeyRecord:
        function = request.function
        assembler = "" if stage.assembler is None else stage.assembler.identity

        def fingerprint(captured: types.FunctionType) -> bytes:
            return code_fingerprint(captured, digests)

        return key_record(
            function=f"{function.__module__}.{function.__qualname__}",
            source=digests.of(function),
            owner=None if request.owner is None else f"{request.owner.__module__}.{request.owner.__qualname__}",
            descriptors=tuple((name, canonical(d, fingerprint)) for name, d in request.descriptors.items()),
            options=dataclasses.astuple(stage.options),
            environment={},
            target=stage.target,
            toolchain=f"{self._toolchain_digest()} {assembler}",
        )

    def _source_digests(self, request: BuildRequest) -> SourceDigests:
        """Return the digests of sources that the launcher's last build came across, in whatever process."""
        return SourceDigests(local_store().remembered(_sources_topic(request.function), self._toolchain_digest()))

    def _toolchain_digest(self) -> str:
        """Return the digest as it was at the first build: the code of this process stays what it is."""
        if self._toolchain is None:
            self._toolchain = toolchain_digest(local_store())
        return self._toolchain

    def _keep(self, function: types.FunctionType, key: KeyRecord, build: Build) -> None:
        with self._lock:
            self._keys.setdefault(function.__code__, set()).add(key.data)
        self._builds.add(key.data, build)

    def _load(self, request: BuildRequest, stage: _Stage, build: Build, accept: Acceptance, origin: Any) -> Built:
        artifact = build.artifact
        loaded = self._modules.obtain(
            artifact,
            str(request.device),
            lambda: stage.backend.load(_shown(artifact, request.function), request.device),
        )
        guards = accept.guards(build.manifest)
        registry.describe_messages(request.device, loaded, _places(request.function, artifact))
        state = _native.CallState(
            artifact.program,
            loaded.kernels,
            loaded,
            guards,
            artifact.written,
            _failure(request.function, artifact),
        )
        return Built(state, guards, origin)


_pipeline = _Pipeline()


class _Stage(Frozen):
    """What the environment and the device resolve to for one build."""

    variables: dict[str, str | None]
    backend: Any
    target: Any
    options: KernelOptions
    assembler: Assembler | None


def _resolved(request: BuildRequest) -> _Stage:
    variables = steering_variables()
    steering = resolve_steering(variables)
    backend = registry.backend_for(request.device, steering.interpret)
    # The interpreter does not know what a pointer points into: that its accesses are inside is checked by the kernel.
    checked = request.options.bounds_check or steering.bounds_check or steering.interpret
    options = dataclasses.replace(request.options, bounds_check=checked)
    target = backend.target(request.device, steering.arch)
    return _Stage(variables, backend, target, options, registry.assembler_of(request.device, steering))


def _acceptance(request: BuildRequest, variables: Mapping[str, str | None], digests: SourceDigests) -> Acceptance:
    return Acceptance(request.function, request.owner, argument_roots(request.descriptors), variables, digests)


def _sources_topic(function: types.FunctionType) -> str:
    return f"sources of {function.__module__}.{function.__qualname__}"


def _compile(request: BuildRequest, stage: _Stage) -> Build:
    recorder = recording.Recorder(request.function, request.owner, argument_roots(request.descriptors))
    module = front_end.trace(
        request.function,
        request.plan,
        request.descriptors,
        stage.target,
        stage.options,
        recorder,
        owner_class=request.owner,
    )
    dump.dump_stages(Config.from_environment(), module, stage.target, stage.backend.readable)
    verifier.verify(module, sites.Sites(request.function, module.functions, ()).describe)
    artifact = stage.backend.compile(module, stage.target, stage.assembler)
    return Build(recorder.finish().to_bytes(), artifact)


def _shown(artifact: Artifact, function: types.FunctionType) -> Artifact:
    """Return what is loaded: the artifact, with files of this machine in its line table if a profiler is to see it."""
    if artifact.target.backend != "cuda" or not Config.from_environment().line_info:
        return artifact
    from darter.launch.line_info import with_line_info

    return with_line_info(artifact, function)


def _failure(function: types.FunctionType, artifact: Artifact) -> Callable[[str, str, str, int], BaseException]:
    """Return what makes the exception of a failed run of ``artifact``, with its place in the source."""

    def failure(kind: str, exception: str, message: str, site: int) -> BaseException:
        places = artifact_sites.sites_of(artifact)
        return sites.Sites(function, artifact.functions, places).error(kind, exception, message, site)

    return failure


def _places(function: types.FunctionType, artifact: Artifact) -> Callable[[Loc], str]:
    """Return what describes places in the source for as long as the launcher lives, which it does not prolong."""
    launcher, functions = weakref.ref(function), artifact.functions

    def describe(loc: Loc) -> str:
        live = launcher()
        return "" if live is None else sites.Sites(live, functions, ()).describe(loc)

    return describe
