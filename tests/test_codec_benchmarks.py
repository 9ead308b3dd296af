"""The benchmarks of the codec run, refuse to time wrong results, and take up an interrupted sweep where it stopped."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest


@pytest.fixture(scope="module")
def exhaustive(root):
    spec = importlib.util.spec_from_file_location("exhaustive", root / "benchmarks" / "exhaustive.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "chunk"), [("E4M3FN", 0x43), ("E5M2", 0x47), ("E4M3FNUZ", 0xBA), ("E5M2FNUZ", 0xFF)])
def test_sixteen_million_patterns(exhaustive, name, chunk):
    """One chunk of the sweep each: around overflow, around the subnormals of negative numbers, NaNs."""
    found = exhaustive.check_chunk(name, chunk, compiled=False)
    assert len(found) == 4 and all(result == {"count": 0, "first": None} for result in found.values()), found


def test_a_wrong_encoder_is_found(exhaustive, monkeypatch):
    from fp8lab import encode

    def truncating(x, name, *, overflow):
        return encode(x, name, overflow=overflow, rounding="toward_zero")

    monkeypatch.setattr("fp8lab.encode", truncating)
    found = exhaustive.check_chunk("E4M3FN", 0x43, compiled=False)
    assert found["encode saturate"]["count"] > 1 << 20
    bits, got, want = found["encode saturate"]["first"]
    x = np.uint32(bits).view(np.float32)
    assert got + 1 == want == encode(x).item()
    assert found["torch saturate"]["count"] == 0
    state = {"done": {"E4M3FN": {"67": found}}, "seconds": {}}
    assert not exhaustive.report("E4M3FN", exhaustive.summary("E4M3FN", state))


def test_progress_is_kept_unless_something_changed(exhaustive, tmp_path, monkeypatch):
    path = tmp_path / "state" / "run.json"
    state = exhaustive.load(path, fresh=False)
    assert state["done"] == {}
    state["done"]["E5M2"] = {"3": {}}
    exhaustive.save(path, state)
    assert exhaustive.load(path, fresh=False) == state
    assert exhaustive.load(path, fresh=True)["done"] == {}
    path.write_text(path.read_text()[:20])
    assert exhaustive.load(path, fresh=False)["done"] == {}
    exhaustive.save(path, state)
    monkeypatch.setattr(exhaustive, "fingerprint", lambda: "another version of the code")
    assert exhaustive.load(path, fresh=False)["done"] == {}


def test_a_sweep_goes_on_where_it_stopped(root, tmp_path):
    command = [sys.executable, str(root / "benchmarks" / "exhaustive.py"), "--formats", "E4M3FN", "--no-compiled"]
    command += ["--workers", "1", "--state", str(tmp_path / "state.json"), "--json", str(tmp_path / "result.json")]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'tests'}{os.pathsep}{root}"}
    for sample in (1, 2):
        done = subprocess.run([*command, "--sample", str(sample)], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        assert f"E4M3FN: {sample << 24:,} float32 bit patterns" in done.stdout
    state = json.loads((tmp_path / "state.json").read_text())
    assert sorted(state["done"]["E4M3FN"]) == ["0", "128"]
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["formats"]["E4M3FN"]["comparisons"]["encode saturate"] == {"mismatches": 0, "first": None}


def test_the_speed_benchmark_compares_before_it_times(root, tmp_path):
    command = [sys.executable, str(root / "benchmarks" / "codec.py"), "--n", "17", "--rounds", "2", "--threads", "1"]
    done = subprocess.run(
        [*command, "--json", str(tmp_path / "codec.json")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert done.returncode == 0, done.stderr
    assert "goals, 1 thread" in done.stdout and "compiled encode, out=, is 1.4 x the copy" in done.stdout
    rows = json.loads((tmp_path / "codec.json").read_text())["threads"]["1"]
    assert set(rows) == {"encode float32", "encode bfloat16", "decode"}
    assert all(row["ns"] > 0 and row["ratio"] > 0 for ways in rows.values() for row in ways.values())
