//! Compilers, test runners, linters and package managers.

use super::Kind;
use super::runners::{jvm, npm, scripts, targets};
use crate::shell::args::Args;

const VIEW: Kind = Kind::File { log: false };

/// The kind of a build tool, `None` when the program is none.
pub(super) fn kind(name: &str, args: Args<'_, '_>) -> Option<Kind> {
    let sub = |values: &[&str]| args.subcommand(values).map_or("", |(sub, _)| sub);
    let only = |known: &[&str], values: &[&str]| {
        let sub = sub(values);
        if known.contains(&sub) || sub.is_empty() { Kind::Command } else { Kind::Unknown }
    };
    Some(match name {
        "cargo" => cargo(args),
        "rustup" if sub(&[]) == "run" => Kind::Unknown,
        "coverage" if sub(&[]) == "run" => Kind::Unknown,
        "rustc" | "rustup" | "javac" | "kotlinc" | "scalac" | "ghc" | "nim" | "ld" | "ar" | "ranlib"
        | "strip" => Kind::Command,
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++"
            if args.has(&["-E"]) || args.has(&["-o"]) && args.value(&["-o"]) == Some("-") =>
        {
            VIEW
        }
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" => Kind::Command,
        "go" => go(args),
        "npm" => npm(args, sub(&["--prefix", "-C", "-w", "--workspace", "--loglevel", "--registry"])),
        "pnpm" => npm(args, sub(&["--filter", "-F", "-C", "--dir", "--prefix"])),
        "yarn" if args.0.is_empty() => Kind::Command,
        "yarn" => npm(args, sub(&["--cwd"])),
        "bun" if sub(&["--cwd"]) == "run" => npm(args, "run"),
        "bun" => only(
            &["install", "i", "add", "remove", "update", "test", "build", "pm", "outdated", "audit"],
            &["--cwd"],
        ),
        "deno" => only(&["test", "lint", "check", "compile", "cache", "install", "add"], &[]),
        "node" | "nodejs" => node(args),
        "python" | "python2" | "python3" | "py" => python(args),
        "pip" | "pip3" | "pipx" | "twine" | "conda" | "mamba" | "micromamba" | "virtualenv" | "venv"
        | "rye" => Kind::Command,
        "uv" => only(
            &[
                "sync", "add", "remove", "lock", "pip", "venv", "tree", "python", "tool", "build", "publish",
                "init", "cache", "version", "self",
            ],
            &["--directory", "--project", "--color", "--python", "-p"],
        ),
        "poetry" | "pipenv" | "pdm" | "hatch" => only(
            &[
                "install", "add", "remove", "update", "lock", "show", "check", "build", "publish", "sync",
                "env", "config", "version", "init", "outdated", "list", "graph", "test",
            ],
            &["-C", "--directory", "-P", "--project"],
        ),
        "black" | "isort" | "ruff" | "autopep8" | "yapf" | "autoflake" | "gofmt" | "goimports"
        | "gofumpt" | "clang-format" | "prettier" | "shfmt" | "rustfmt" | "biome" | "stylua" | "dprint" => {
            formatter(name, args)
        }
        "pytest" | "py.test" | "unittest" | "mypy" | "dmypy" | "pyright" | "basedpyright" | "pylint"
        | "flake8" | "bandit" | "coverage" | "tox" | "nox" | "compileall" | "py_compile" | "pyflakes"
        | "pycodestyle" | "pydocstyle" | "vulture" | "ty" => Kind::Command,
        "pre-commit" | "pre_commit" | "lefthook"
            if args.has(&["--show-diff-on-failure", "--verbose", "-v"]) =>
        {
            Kind::Unknown
        }
        "pre-commit" | "pre_commit" | "lefthook" | "lint-staged" => Kind::Command,
        "tsc" | "tsgo" | "vue-tsc" | "eslint" | "oxlint" | "stylelint" | "standard" | "xo" | "vitest"
        | "jest" | "mocha" | "ava" | "tap" | "karma" | "cypress" | "webpack" | "rollup" | "tsup"
        | "parcel" | "knip" | "depcheck" | "madge" | "size-limit" | "attw" | "publint" | "tslint"
        | "svelte-check" | "web-ext" | "ncu" | "npm-check-updates" => Kind::Command,
        "playwright" => only(&["test", "install", "install-deps", "show-report", "codegen"], &[]),
        "esbuild" | "swc"
            if args.texts().any(|text| text.starts_with("--out") || text == "-o" || text == "-d") =>
        {
            Kind::Command
        }
        "vite" | "next" | "nuxt" | "nuxi" | "astro" | "remix" | "ng" | "expo" | "electron-builder"
        | "storybook" | "tauri" => {
            only(&["build", "lint", "check", "test", "info", "typecheck", "generate", "optimize"], &[])
        }
        "turbo" | "nx" | "lerna" | "lage" | "moon" => scripts(args),
        "prisma" | "drizzle-kit" => only(&["generate", "migrate", "validate", "push"], &[]),
        "make" | "gmake" | "just" | "task" | "rake" | "invoke" | "mage" | "ninja" | "samu" => {
            targets(name, args)
        }
        "cmake" if args.has(&["-E", "-P"]) => Kind::Unknown,
        "cmake" | "ctest" | "cpack" | "meson" | "autoconf" | "automake" | "autoreconf" | "configure"
        | "qmake" | "xmake" | "scons" => Kind::Command,
        "mvn" | "mvnw" | "gradle" | "gradlew" | "sbt" | "ant" | "lein" => jvm(args),
        "bazel" | "bazelisk" | "buck" | "buck2" | "pants" => {
            only(&["build", "test", "clean", "fetch", "sync", "info", "version", "lint", "check"], &[])
        }
        "dotnet" | "swift" | "zig" | "dart" | "flutter" | "gleam" => only(
            &[
                "build",
                "test",
                "restore",
                "publish",
                "clean",
                "analyze",
                "pub",
                "add",
                "list",
                "pack",
                "doctor",
                "new",
                "package",
                "build-exe",
                "build-lib",
                "nuget",
            ],
            &[],
        ),
        "xcodebuild" | "msbuild" | "nuget" | "pod" | "carthage" | "swiftlint" | "ktlint" | "detekt"
        | "checkstyle" => Kind::Command,
        "mix" => {
            only(&["test", "compile", "deps.get", "deps.update", "credo", "dialyzer", "ecto.migrate"], &[])
        }
        "rails" => only(&["test", "db:migrate", "db:create", "db:seed", "assets:precompile"], &[]),
        "rspec" | "minitest" | "rubocop" | "gem" | "bundle" | "bundler" | "brakeman" | "phpunit" | "pest"
        | "phpstan" | "psalm" | "phpcs" => Kind::Command,
        "composer" => only(
            &[
                "install",
                "update",
                "require",
                "remove",
                "dump-autoload",
                "show",
                "outdated",
                "audit",
                "validate",
            ],
            &[],
        ),
        "golangci-lint" if args.has(&["fmt", "--diff"]) => Kind::Diff,
        "golangci-lint" | "staticcheck" | "gotestsum" | "govulncheck" | "revive" | "errcheck"
        | "fieldalignment" | "modernize" | "ginkgo" | "gosec" => Kind::Command,
        "shellcheck" if args.has(&["-f", "--format"]) && args.value(&["-f", "--format"]) == Some("diff") => {
            Kind::Diff
        }
        "shellcheck" | "hadolint" | "yamllint" | "markdownlint" | "markdownlint-cli2" | "actionlint"
        | "vale" | "codespell" | "typos" | "cspell" | "semgrep" | "trivy" | "grype" | "snyk" | "gitleaks"
        | "taplo" | "tflint" | "ansible-lint" | "clang-tidy" | "cppcheck" | "sqlfluff" => Kind::Command,
        "apt" | "apt-get" | "apt-cache" | "dpkg" | "rpm" | "yum" | "dnf" | "apk" | "brew" | "pacman"
        | "snap" | "flatpak" | "choco" | "winget" | "scoop" | "zypper" | "port" => package(args),
        _ => return None,
    })
}

/// A system package manager; `cat` and `edit` subcommands show recipes.
fn package(args: Args<'_, '_>) -> Kind {
    match args.subcommand(&[]) {
        Some(("cat" | "edit" | "log", _)) => VIEW,
        _ => Kind::Command,
    }
}

fn cargo(args: Args<'_, '_>) -> Kind {
    const VALUES: &[&str] = &["--manifest-path", "--config", "-Z", "-C", "--color", "--target-dir"];
    match args.subcommand(VALUES) {
        Some(("fmt", rest)) if rest.texts().any(|text| text == "--check") => Kind::Diff,
        Some(("fmt", rest)) if rest.texts().any(|text| text.starts_with("--emit")) => VIEW,
        Some(("fix" | "clippy", rest)) if rest.has(&["--diff"]) => Kind::Diff,
        Some(("expand" | "asm", _)) => VIEW,
        // Annotated source.
        Some(("llvm-cov", rest)) if rest.has(&["--text"]) => VIEW,
        None => Kind::Command,
        Some((sub, _)) if CARGO.contains(&sub) => Kind::Command,
        _ => Kind::Unknown,
    }
}

const CARGO: &[&str] = &[
    "build",
    "b",
    "check",
    "c",
    "test",
    "t",
    "clippy",
    "doc",
    "d",
    "bench",
    "fmt",
    "nextest",
    "update",
    "add",
    "remove",
    "rm",
    "install",
    "uninstall",
    "tree",
    "metadata",
    "fetch",
    "clean",
    "publish",
    "package",
    "search",
    "audit",
    "deny",
    "outdated",
    "machete",
    "udeps",
    "llvm-cov",
    "tarpaulin",
    "miri",
    "fix",
    "init",
    "new",
    "login",
    "version",
    "hack",
    "semver-checks",
    "generate-lockfile",
    "vet",
    "rustc",
];

fn go(args: Args<'_, '_>) -> Kind {
    match args.subcommand(&["-C"]) {
        Some(("fmt" | "fix", rest)) if rest.has(&["-d", "-diff"]) => Kind::Diff,
        Some(("mod", rest)) if rest.has(&["-print", "-json"]) => Kind::Data,
        Some((
            "build" | "test" | "vet" | "get" | "install" | "mod" | "list" | "fmt" | "version" | "clean"
            | "work" | "env" | "fix",
            _,
        ))
        | None => Kind::Command,
        _ => Kind::Unknown,
    }
}

/// `node`: its own test runner, its version, or a known tool inside `node_modules`.
fn node(args: Args<'_, '_>) -> Kind {
    if args.has(&["--test", "--version", "-v", "--check", "-c"]) {
        return Kind::Command;
    }
    let Some((_, rest)) = args.subcommand(&["-r", "--require", "--import", "--loader", "--env-file"]) else {
        return Kind::Unknown;
    };
    let at = args.0.len() - rest.0.len();
    let script =
        args.0.get(at - 1).map(|word| word.text.as_ref()).filter(|path| path.contains("node_modules/"));
    let name =
        script.and_then(|path| path.rsplit('/').next()).map(|file| file.split('.').next().unwrap_or(file));
    name.filter(|name| *name != "node").and_then(|name| kind(name, rest)).unwrap_or(Kind::Unknown)
}

fn python(args: Args<'_, '_>) -> Kind {
    let mut texts = args.texts();
    match (texts.next(), texts.next()) {
        (Some("--version" | "-V" | "-VV"), None) => Kind::Command,
        (
            Some(script),
            Some("test" | "migrate" | "makemigrations" | "check" | "showmigrations" | "collectstatic"),
        ) if script == "manage.py" || script.ends_with("/manage.py") => Kind::Command,
        _ => Kind::Unknown,
    }
}

/// Formatters print whole files, patches or lists of names, as their flags say.
fn formatter(name: &str, args: Args<'_, '_>) -> Kind {
    let has = |options: &[&str]| args.has(options);
    if has(&["--diff", "-d"]) && name != "biome" && name != "prettier"
        || name == "rustfmt" && has(&["--check"])
    {
        return Kind::Diff;
    }
    let sub = args.subcommand(&["--config"]).map_or("", |(sub, _)| sub);
    let quiet = match name {
        "black" | "isort" => {
            !args.0.iter().any(|word| word.text == "-") && !has(&["-c", "--code", "--stdout"])
                || name == "isort" && has(&["--check", "--check-only", "-c"])
        }
        "ruff" => {
            !args.0.iter().any(|word| word.text == "-")
                && matches!(sub, "check" | "format" | "rule" | "version" | "clean" | "config" | "linter")
        }
        "biome" => {
            matches!(sub, "check" | "lint" | "ci" | "migrate" | "init")
                || sub == "format" && has(&["--write", "--fix"])
        }
        "prettier" => has(&["--check", "-c", "--write", "-w", "--list-different", "-l", "--version"]),
        "rustfmt" => !has(&["--emit"]) && !args.0.is_empty(),
        "gofmt" | "goimports" | "gofumpt" | "shfmt" => has(&["-l", "-w", "-lw"]),
        "dprint" | "stylua" => sub == "check" || has(&["--check"]),
        _ => has(&["-i", "--in-place", "--check", "-c", "--dry-run"]),
    };
    if quiet { Kind::Command } else { VIEW }
}
