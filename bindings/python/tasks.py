#!/usr/bin/env python3
"""Builds and checks the Python package: `tasks.py test | adapters | clients | stubs | dist | measure`, each callable alone.

Everything it makes is under `target/python`. Needs Rust and Python; what the tests need comes from the package index, once.
`OMNIROUTE_PYTHONS` may name more interpreters that `test` runs the tests with, besides `python3.12` and newer on the path.
"""

import concurrent.futures
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
TARGET = BUILD / "python"
STUB = HERE / "python" / "omniroute" / "_native.pyi"
#: One environment for each: they want different versions of the same packages.
ADAPTERS = ("openai", "openai2", "anthropic", "langchain", "litellm")
#: Modules that import a framework, which the environment of the tests does not have.
FRAMEWORKS = {"openai", "anthropic", "langchain", "litellm"}
#: Largest wheel without vocabularies, in bytes.
WHEEL_LIMIT = 6 << 20
#: Shows that a wheel counts as it should: exactly, or not.
PLAIN = "assert not om.EXACT_TOKENS"
EXACT = """
request = {"model": "gpt-5", "messages": [{"role": "user", "content": "hello world"}]}
receipt = om.Compressor({"count": "exact"}).compress(request).receipt
assert om.EXACT_TOKENS and receipt["counter"] == {"name": "o200k", "exact": True} and receipt.tokens_before == 2
"""


def main() -> None:
    tasks = {"test": test, "adapters": adapters, "clients": clients, "stubs": stubs, "dist": dist, "measure": measure}
    if len(sys.argv) != 2 or sys.argv[1] not in tasks:
        sys.exit(f"usage: tasks.py {' | '.join(tasks)}")
    tasks[sys.argv[1]]()


def test() -> None:
    """The package in an environment of its own: tests, types, stubs."""
    check_stub()
    built = wheel("dev")
    for name, base in interpreters().items():
        print(f"tests with {name}", flush=True)
        python = environment(f"test-{name}", ["test.txt"], base=base)
        install(python, built)
        pytest(python, "--ignore=tests/adapters", "tests")
    python = environment("types", ["types.txt"])
    install(python, built)
    mypy = [python, "-m", "mypy", "--cache-dir", str(TARGET / "mypy")]
    run([*mypy, *sorted(str(path) for path in (HERE / "examples").glob("*.py"))])
    core = [path for path in sorted(STUB.parent.glob("*.py*")) if path.stem not in FRAMEWORKS]
    run([*mypy, *map(str, core)])


def adapters() -> None:
    """Each adapter with the real framework; the packages of two vendors also read what the wires write."""
    environment("build", ["build.txt"])
    with concurrent.futures.ThreadPoolExecutor(3) as crew:  # mostly waits for the network
        made = crew.map(lambda name: environment(name, [f"{name}.txt"]), ADAPTERS)
        built = wheel("dev")
        pythons = list(made)
    os.environ["OMNIROUTE_WIRE_SAMPLES"] = wire_samples()
    for name, python in zip(ADAPTERS, pythons, strict=True):
        print(f"adapter with {', '.join(pins(name))}", flush=True)
        install(python, built)
        kind = name.rstrip("2")
        tests = [f"tests/adapters/test_{test}.py" for test in (kind, f"wires_{kind}", f"{kind}_routed")]
        pytest(python, "--disable-warnings", *(test for test in tests if (HERE / test).is_file()))


def clients() -> None:
    """Official clients of three vendors against the gateway, which `make unit` has built."""
    binary = BUILD / "debug" / "omniroute"
    if not binary.is_file():
        run([os.environ.get("CARGO", "cargo"), "build", "-q", "-p", "omniroute-gateway"], cwd=ROOT)
    python = environment("clients", ["clients.txt"])
    os.environ["OMNIROUTE_BIN"] = str(binary)
    pytest(python, "--disable-warnings", str(ROOT / "examples" / "gateway" / "tests" / "clients"))


def wire_samples() -> str:
    """Replies written for clients of each wire, for the official packages to read; gives the file."""
    path = TARGET / "wire-samples.jsonl"
    cargo = [os.environ.get("CARGO", "cargo"), "run", "-q", "-p", "omniroute-providers", "--all-features"]
    run([*cargo, "--example", "wire_samples", "--", str(path)], cwd=ROOT)
    return str(path)


def stubs() -> None:
    """Writes the stub file of the native module from its Rust source."""
    STUB.write_text(generated())
    print(f"wrote {STUB.relative_to(ROOT)}")


def dist() -> None:
    """Release wheels without and with vocabularies, and a proof that both work offline and leave nothing."""
    plain = wheel("release")
    exact = wheel("release", "tokens-exact")
    for built, what in ((plain, "default"), (exact, "with vocabularies")):
        print(f"{built.name} ({what}): {built.stat().st_size / 1e6:.2f} MB")
    if plain.stat().st_size > WHEEL_LIMIT:
        sys.exit(f"the wheel is over {WHEEL_LIMIT} bytes")
    for built, code in ((plain, PLAIN), (exact, EXACT)):
        python = environment("offline", [], fresh=True, with_pip=True)
        before = installed(python)
        offline = ["--no-index", "--disable-pip-version-check", str(built)]
        run([python, "-I", "-m", "pip", "-q", "install", *offline], cwd=built.parent)
        elsewhere = TARGET / "empty"
        elsewhere.mkdir(exist_ok=True)
        run([python, "-I", "-c", f"import omniroute as om\n{code}"], cwd=elsewhere)
        for example in ("quickstart.py", "session.py"):
            run([python, "-I", str(HERE / "examples" / example)], cwd=elsewhere)
        run([python, "-m", "pip", "-q", "uninstall", "-y", "omniroute"])
        if installed(python) != before:
            sys.exit("uninstalling leaves files behind")
    print("offline install, the examples and uninstall work for both")


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


def pytest(python: str, *arguments: str) -> None:
    run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments])


def interpreters() -> "dict[str, str]":
    """This interpreter and the others that are here, by version."""
    found = {version(sys.executable): sys.executable}
    names = [f"python3.{minor}" for minor in range(12, 20)]
    for name in [*names, *os.environ.get("OMNIROUTE_PYTHONS", "").split(os.pathsep)]:
        path = shutil.which(name) if name else None
        if path is not None and version(path):
            found.setdefault(version(path), path)
    return found


def version(python: str) -> str:
    """For instance `3.11`; empty if the interpreter does not start."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def pins(name: str) -> "list[str]":
    lines = (HERE / "requirements" / f"{name}.txt").read_text().split()
    return [word for word in lines if "==" in word and not word.startswith("pytest")]


def environment(
    name: str,
    requirements: "list[str]",
    *,
    base: str = sys.executable,
    fresh: bool = False,
    with_pip: bool = False,
) -> str:
    """The interpreter of an environment; made again when its requirements change. Only that of the build has a pip."""
    folder = TARGET / f"venv-{name}"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    files = [HERE / "requirements" / file for file in requirements]
    made_from = [sys.version, base, *(file.read_text() for file in files)]
    stamp = hashlib.sha256("\n".join(made_from).encode()).hexdigest()
    mark = folder / "made-from"
    if fresh or not mark.is_file() or mark.read_text() != stamp:
        shutil.rmtree(folder, ignore_errors=True)
        own_pip = with_pip or name == "build"
        made = subprocess.run([base, "-m", "venv", *([] if own_pip else ["--without-pip"]), str(folder)])
        if made.returncode != 0:
            sys.exit(f"{base} -m venv does not work: on Debian and Ubuntu install python3-venv")
        if name == "build":
            run([str(python), "-m", "pip", "-q", "install", "--disable-pip-version-check", "-r", str(files[0])])
        elif files:
            pip(str(python), "--no-compile", *(word for file in files for word in ("-r", str(file))))
        mark.write_text(stamp)
    return str(python)


def install(python: str, built: pathlib.Path) -> None:
    pip(python, "--no-index", "--no-deps", "--force-reinstall", str(built))


def pip(python: str, *arguments: str) -> None:
    """Installs into an environment that has no pip."""
    command = [environment("build", ["build.txt"]), "-m", "pip", "--python", python, "-q", "install"]
    run([*command, "--disable-pip-version-check", *arguments])


def installed(python: str) -> "set[str]":
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    return {str(path) for path in pathlib.Path(site).rglob("*") if "__pycache__" not in path.parts}


def run(command: "list[str]", cwd: pathlib.Path = HERE) -> None:
    # A relative folder of the caller is none of the command's.
    ended = subprocess.run(command, cwd=cwd, env={**os.environ, "CARGO_TARGET_DIR": str(BUILD)})
    if ended.returncode != 0:
        shown = " ".join(pathlib.Path(word).name if os.sep in word else word for word in command)
        sys.exit(f"failed: {shown}")


if __name__ == "__main__":
    main()
