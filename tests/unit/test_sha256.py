from __future__ import annotations

import hashlib
import importlib
import subprocess
import sys

import pytest

from darter.sha256 import _built_in, sha256

PROBE = """
import sys
from darter.sha256 import sha256
hash = sha256(b"one")
hash.update(b" two")
assert "hashlib" not in sys.modules
print(hash.hexdigest())
"""


@pytest.fixture
def anew():
    """Look for the modules anew, now and after the test."""
    _built_in.cache_clear()
    yield
    _built_in.cache_clear()


@pytest.mark.parametrize("data", [b"", b"abc", bytes(1000)])
def test_it_is_sha_256(data):
    assert sha256(data).hexdigest() == hashlib.sha256(data).hexdigest()


def test_openssl_is_not_loaded_for_it():
    pytest.importorskip("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == hashlib.sha256(b"one two").hexdigest()


def test_a_python_without_modules_of_its_own_takes_hashlib(monkeypatch, anew):
    for name in ("_sha2", "_sha256"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "hashlib")
    assert sha256(b"abc").hexdigest() == hashlib.sha256(b"abc").hexdigest()


def test_modules_are_looked_for_once(monkeypatch, anew):
    monkeypatch.delitem(sys.modules, "hashlib")
    looked_for = []
    found = importlib.import_module
    monkeypatch.setattr(importlib, "import_module", lambda name: looked_for.append(name) or found(name))
    sha256(b"abc")
    first = len(looked_for)
    assert sha256(b"abc").hexdigest() == hashlib.sha256(b"abc").hexdigest()
    assert len(looked_for) == first > 0
