from __future__ import annotations

import json
import subprocess
import sys

import pytest

from darter import json_text

PROBE = """
import sys
from darter import json_text
value = {"b": [1, "\\u00e4\\U0001f600\\ud800", None, True, [[], {}], 1 << 70], "a": 'x"\\\\\\n'}
text = json_text.dumps(value, sort_keys=True)
assert json_text.loads(text.encode()) == json_text.loads(text) == value
assert "json" not in sys.modules
for wrong in (b"", b"[1,", b"[1]x", b"nope", b'{"a":1,}', b"\\xff", b'["\\n"]'):
    try:
        json_text.loads(wrong)
    except ValueError:
        continue
    raise AssertionError(wrong)
import json
assert text == json.dumps(value, sort_keys=True, separators=(",", ":"))
assert json_text.loads(text) == value
"""


def test_without_the_package_it_reads_and_writes_what_the_package_does():
    subprocess.run([sys.executable, "-c", PROBE], check=True, timeout=60)


@pytest.mark.parametrize("value", [[], {"a": [1, "ä", None, False, -3]}, "\ud800", [[["x"]]]])
def test_beside_the_package_it_reads_and_writes_what_the_package_does(value):
    text = json.dumps(value, separators=(",", ":"))
    assert json_text.dumps(value) == text
    assert json_text.loads(text) == json_text.loads(text.encode()) == value


def test_what_json_has_no_form_for_is_refused():
    with pytest.raises(TypeError, match="a set has no form in JSON"):
        json_text.dumps({1})
    with pytest.raises(ValueError, match="JSON"):
        json_text.dumps(float("nan"))


def test_another_python_takes_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "_json", None)
    for cached in (json_text._scanner, json_text._encoder):
        cached.cache_clear()
    try:
        assert json_text.dumps([1, "ä"]) == '[1,"\\u00e4"]'
        assert json_text._scanner()("[1]", 0) == ([1], 3)
    finally:
        for cached in (json_text._scanner, json_text._encoder):
            cached.cache_clear()
