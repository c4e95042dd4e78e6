#!/usr/bin/env python3
"""Builds and checks the Python package: `tasks.py test | adapters | stubs | dist | measure`, each callable alone.

Everything it makes is under `target/python`. Needs Rust and Python; frameworks come from the package index once.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "python"
STUB = HERE / "python" / "omniroute" / "_native.pyi"
#: One environment for each: they want different versions of the same packages.
ADAPTERS = ("openai", "openai2", "anthropic", "langchain", "litellm")
#: Modules that import a framework, which the environment of the tests does not have.
FRAMEWORKS = {"openai", "anthropic", "langchain", "litellm"}
#: Largest wheel without vocabularies, in bytes.
WHEEL_LIMIT = 6 << 20


def main() -> None:
    tasks = {"test": test, "adapters": adapters, "stubs": stubs, "dist": dist, "measure": measure}
    if len(sys.argv) != 2 or sys.argv[1] not in tasks:
        sys.exit(f"usage: tasks.py {' | '.join(tasks)}")
    tasks[sys.argv[1]]()


def test() -> None:
    """The package in an environment of its own: tests, types, stubs."""
    check_stub()
    python = environment("test", ["test.txt"])
    install(python, wheel("dev"))
    run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--ignore=tests/adapters", "tests"])
    mypy = [python, "-m", "mypy", "--cache-dir", str(TARGET / "mypy")]
    run([*mypy, *sorted(str(path) for path in (HERE / "examples").glob("*.py"))])
    core = [path for path in sorted(STUB.parent.glob("*.py*")) if path.stem not in FRAMEWORKS]
    run([*mypy, *map(str, core)])


def adapters() -> None:
    """Each adapter with the real framework."""
    built = wheel("dev")
    for name in ADAPTERS:
        python = environment(name, [f"{name}.txt"])
        install(python, built)
        run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/adapters/test_{name.rstrip('2')}.py"])


def stubs() -> None:
    """Writes the stub file of the native module from its Rust source."""
    STUB.write_text(generated())
    print(f"wrote {STUB.relative_to(ROOT)}")


def dist() -> None:
    """Release wheels without and with vocabularies, and a proof that the first works offline and leaves nothing."""
    plain = wheel("release")
    exact = wheel("release", "tokens-exact")
    for built, what in ((plain, "default"), (exact, "with vocabularies")):
        print(f"{built.name} ({what}): {built.stat().st_size / 1e6:.2f} MB")
    if plain.stat().st_size > WHEEL_LIMIT:
        sys.exit(f"the wheel is over {WHEEL_LIMIT} bytes")
    for built, code in ((plain, "assert not om.EXACT_TOKENS"), (exact, "assert om.EXACT_TOKENS")):
        python = environment("offline", [], fresh=True)
        before = installed(python)
        install(python, built)
        elsewhere = TARGET / "empty"
        elsewhere.mkdir(exist_ok=True)
        run([python, "-I", "-c", f"import omniroute as om; {code}"], cwd=elsewhere)
        run([python, "-I", str(HERE / "examples" / "quickstart.py")], cwd=elsewhere)
        run([python, "-m", "pip", "-q", "uninstall", "-y", "omniroute"])
        if installed(python) != before:
            sys.exit("uninstalling leaves files behind")
    print("offline install, quickstart and uninstall work for both")


def measure() -> None:
    """Prints the figures of the package on this machine."""
    python = environment("measure", [], fresh=True)
    install(python, wheel("release"))
    run([python, "-I", str(HERE / "measure.py")])


def check_stub() -> None:
    if STUB.read_text() != generated():
        sys.exit(f"{STUB.relative_to(ROOT)} is not what the Rust source says: run `make python-stubs`")


def generated() -> str:
    out = TARGET / "stubs"
    shutil.rmtree(out, ignore_errors=True)
    maturin("generate-stubs", "--quiet", "--profile", "dev", "--features", "stubs", "--out", str(out))
    (found,) = out.rglob("*.pyi")
    head = "# Generated from the Rust source by `make python-stubs`; do not edit.\n"
    return head + found.read_text()


def wheel(profile: str, *features: str) -> pathlib.Path:
    """Builds a wheel and gives its path."""
    out = TARGET / "wheels" / "-".join((profile, *features))
    shutil.rmtree(out, ignore_errors=True)
    extra = ["--features", ",".join(features)] if features else []
    if profile == "release":
        extra.append("--strip")
    maturin("build", "--quiet", "--profile", profile, "--out", str(out), *extra)
    (built,) = out.glob("*.whl")
    return built


def maturin(*arguments: str) -> None:
    python = environment("build", ["build.txt"])
    run([python, "-m", "maturin", *arguments, "--interpreter", sys.executable])


def environment(name: str, requirements: "list[str]", *, fresh: bool = False) -> str:
    """The interpreter of an environment; made again when its requirements change."""
    folder = TARGET / f"venv-{name}"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    files = [HERE / "requirements" / file for file in requirements]
    stamp = hashlib.sha256("\n".join([sys.version, *(file.read_text() for file in files)]).encode()).hexdigest()
    mark = folder / "made-from"
    if fresh or not mark.is_file() or mark.read_text() != stamp:
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        for file in files:
            run([str(python), "-m", "pip", "-q", "install", "-r", str(file)])
        mark.write_text(stamp)
    return str(python)


def install(python: str, built: pathlib.Path) -> None:
    options = ["--no-index", "--no-deps", "--force-reinstall", "--disable-pip-version-check"]
    run([python, "-m", "pip", "-q", "install", *options, str(built)])


def installed(python: str) -> "set[str]":
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    return {str(path) for path in pathlib.Path(site).rglob("*") if "__pycache__" not in path.parts}


def run(command: "list[str]", cwd: pathlib.Path = HERE) -> None:
    ended = subprocess.run(command, cwd=cwd)
    if ended.returncode != 0:
        shown = " ".join(pathlib.Path(word).name if os.sep in word else word for word in command)
        sys.exit(f"failed: {shown}")


if __name__ == "__main__":
    main()
