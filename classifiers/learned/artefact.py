"""The trained network as a file: plain arrays, no pickle.

Weights are kept as half floats, the rows of the vocabulary as bytes with a scale each. What is
saved is a function of the weights alone, byte for byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from classifiers.learned.network import Network
from classifiers.learned.tokens import Vocabulary
from swarm.errors import UsageError

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Artefact:
    """A network with what it takes to use it.

    Attributes
    ----------
    vocabulary : Vocabulary
    network : Network
    temperature : float
        Logits are divided by it before they become probabilities (Guo et al. 2017,
        arXiv:1706.04599).
    hash : str
        Of the file; names the model in logs.
    """

    vocabulary: Vocabulary
    network: Network
    temperature: float
    hash: str


def save(
    path: Path,
    arrays: Mapping[str, NDArray[np.generic]],
    vocabulary: Vocabulary,
    temperature: float,
) -> None:
    """Write the arrays of `Network` and their vocabulary."""
    held: dict[str, NDArray[np.generic]] = {
        f"network.{name}": np.asarray(array, dtype=np.float16)
        for name, array in sorted(arrays.items())
        if name != "words"
    }
    rows = np.asarray(arrays["words"], dtype=np.float32)
    scales = np.maximum(np.abs(rows).max(axis=1), 1e-6) / 127
    np.savez_compressed(
        path,
        allow_pickle=False,
        format=np.array(FORMAT),
        vocabulary=np.array("\n".join(vocabulary.words)),
        common=np.array(len(vocabulary.common)),
        temperature=np.array(temperature),
        rows=np.round(rows / scales[:, None]).astype(np.int8),
        scales=scales.astype(np.float32),
        **held,
    )


def load(path: Path) -> Artefact:
    """Read what `save` wrote.

    Raises
    ------
    UsageError
        When the file cannot be read, or another version wrote it.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            held = {name: file[name] for name in file.files}
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the model {path}: {error}") from error
    if int(held.get("format", 0)) != FORMAT:
        raise UsageError(f"{path} is no model of this version; train one anew, or reinstall")
    arrays: dict[str, NDArray[np.generic]] = {
        name.removeprefix("network."): array
        for name, array in held.items()
        if name.startswith("network.")
    }
    arrays["words"] = held["rows"] * held["scales"][:, None]
    vocabulary = Vocabulary(str(held["vocabulary"]).split("\n"), common=int(held["common"]))
    digest = hashlib.blake2b(path.read_bytes(), digest_size=4).hexdigest()
    return Artefact(vocabulary, Network(arrays), float(held["temperature"]), digest)
