from __future__ import annotations

import sys

import pytest

from darter.later import later


def test_the_module_is_imported_at_the_first_read(monkeypatch):
    name = "darter.launch.dump"
    monkeypatch.delitem(sys.modules, name, raising=False)
    module = later(name)
    assert name not in sys.modules
    assert module.dump_stages is sys.modules[name].dump_stages


def test_what_the_module_lacks_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing_like_this"):
        later("darter.errors").nothing_like_this
