"""The snippets of the README are the files in `examples`, and they run."""

import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent.parent
SNIPPET = re.compile(r"<!-- (examples/[a-z_]+\.py) -->\n```python\n(.*?)```\n", re.S)


def differing(readme: str) -> list[str]:
    return [name for name, code in SNIPPET.findall(readme) if (HERE / name).read_text() != code]


def test_snippets_are_the_files() -> None:
    readme = (HERE / "README.md").read_text()
    assert len(SNIPPET.findall(readme)) >= 2
    assert readme.count("```python") == len(SNIPPET.findall(readme))
    assert differing(readme) == []
    assert differing(readme.replace("import omniroute", "import omnirout", 1)) != []


def test_the_guide_shows_the_files() -> None:
    guide = (HERE.parent.parent / "docs" / "src" / "embed-python.md").read_text()
    assert [name for name, _ in SNIPPET.findall(guide)] == ["examples/agent.py"] and differing(guide) == []
    assert guide.count("```python") == 1
    assert differing(guide.replace("seed", "sead", 1)) != []
    told = subprocess.run([sys.executable, str(HERE / "examples" / "agent.py")], capture_output=True, text=True, timeout=60)
    assert told.stdout.splitlines()[-1] in guide and told.stdout.count("second:") == 3


@pytest.mark.parametrize("name", sorted(path.name for path in (HERE / "examples").glob("*.py")))
def test_examples_run(name: str) -> None:
    ended = subprocess.run([sys.executable, str(HERE / "examples" / name)], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "") and ended.stdout
