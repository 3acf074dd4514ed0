"""Every Python snippet and every command of README.md, CONTRIBUTING.md and docs/ runs.

A python fence is run as a program; a ``text`` fence right after it is what the program prints.  One that needs what
this machine may lack says so in the line before it, ``<!-- needs: cuda -->`` or ``<!-- needs: torch -->``; one that
goes on where the fence before it ended, ``<!-- continues -->``.  Commands stand in fences, indented blocks and tables;
each that begins with ``darter`` is run, each ``make`` target must exist.  ``python -m tests.docs.test_snippets`` writes
what fences print.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += [path for path in [ROOT / "native" / "DESIGN.md"] if path.exists()]

_FENCE = re.compile(
    r"(?:<!-- (?:needs: (?P<needs>\w+)|(?P<continues>continues)) -->\s*\n)?"
    r"^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```(?:\n\n```text\n(?P<output>.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)
_COMMAND = re.compile(
    r"(?:^ {4,}|`|\$ )(?P<command>(?:darter|make|\.ci/run)(?: [^`\n#|]+)?)(?=`|$|\n|\s+#)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Snippet:
    page: Path
    line: int
    text: str
    before: str
    output: str | None
    needs: str | None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def _snippets() -> list[Snippet]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        before = ""
        for fence in _FENCE.finditer(text):
            if fence["language"] == "python":
                line = text.count("\n", 0, fence.start("text")) + 1
                before = before if fence["continues"] else ""
                found.append(Snippet(page, line, fence["text"], before, fence["output"], fence["needs"]))
                before += fence["text"]
    return found


def _commands() -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in _COMMAND.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.setdefault(match["command"].strip(), f"{page.relative_to(ROOT)}:{line}")
    return list(found.items())


def _missing(needs: str | None) -> str | None:
    if needs == "cuda":
        return None if Path("/dev/nvidia0").exists() else "needs an NVIDIA GPU"
    if needs is not None and importlib.util.find_spec(needs) is None:
        return f"needs {needs}"
    return None


def _printed(snippet: Snippet, directory: Path) -> str:
    """Run a fence after those that it continues; returns what it prints itself."""
    program = directory / "snippet.py"
    mark = "-- what the fence itself prints --"
    program.write_text(f"{snippet.before}\nprint({mark!r})\n{snippet.text}", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "DARTER_CACHE_DIR": str(directory / "store")}
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{snippet}:\n{done.stderr}"
    return done.stdout.partition(f"{mark}\n")[2]


@pytest.mark.parametrize("snippet", _snippets(), ids=str)
def test_snippets_run(snippet: Snippet, tmp_path: Path) -> None:
    if reason := _missing(snippet.needs):
        pytest.skip(reason)
    printed = _printed(snippet, tmp_path)
    assert snippet.output in (None, printed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_names_of_files_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []
    files = [
        f"/{path.relative_to(ROOT).as_posix()}" for part in ("src", "native", "tests", "docs") for path in _files(part)
    ]
    files += [f"/{path.name}" for path in ROOT.iterdir()]
    named = re.findall(r"`([\w/]+\.(?:py|pyi|cpp|hpp|txt|toml))`", text)
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in files)] == []


def _files(part: str) -> list[Path]:
    return [path for path in (ROOT / part).rglob("*") if path.is_file()]


def test_the_readme_has_a_snippet_and_its_two_commands() -> None:
    assert [snippet for snippet in _snippets() if snippet.page.name == "README.md"]
    assert {"make demo", "make test"} <= {command for command, _ in _commands()}


@pytest.mark.parametrize(("command", "where"), _commands(), ids=lambda value: value.replace("/", "-"))
def test_commands_work(command: str, where: str, tmp_path: Path) -> None:
    """``darter`` commands run, made quick; ``make`` targets exist; ``.ci/run`` is what runs this."""
    words = command.split()
    if words[0] == ".ci/run":
        assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
        return
    if words[0] == "make":
        target = next(word for word in words[1:] if "=" not in word)
        assert re.search(rf"^{re.escape(target)}:", (ROOT / "Makefile").read_text(), re.MULTILINE), where
        return
    if "cuda" in words and (reason := _missing("cuda")):
        pytest.skip(reason)
    quick = {"demo": ["--elements", "16384"], "bench launch": ["--batches", "1", "--calls", "10"]}
    extra = next((more for name, more in quick.items() if " ".join(words[1:]).startswith(name)), [])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [word.strip("[]") for word in words[1:]]
    done = subprocess.run(
        [sys.executable, "-m", "darter.cli.main", *arguments, *extra],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{where}: {command}\n{done.stdout}\n{done.stderr}"


def test_the_page_of_settings_has_every_variable_that_the_code_reads() -> None:
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "native").rglob("*.cpp")]
    read = {name for path in sources for name in re.findall(r"""["'](DARTER_[A-Z_]+)["']""", path.read_text())}
    told = set(re.findall(r"^\| `(DARTER_[A-Z_]+)` \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE))
    assert told == read


def _write_outputs() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        # From the end, so that places before stay what they are.
        for snippet in reversed([s for s in _snippets() if s.page == page and s.output is not None]):
            with tempfile.TemporaryDirectory() as directory:
                printed = _printed(snippet, Path(directory))
            start = text.index("```text\n", text.index(snippet.text)) + len("```text\n")
            text = text[:start] + printed + text[start + len(snippet.output or "") :]
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    _write_outputs()
