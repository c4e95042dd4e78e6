//! The classes that have anchors in the text, and how they relate to filter ids and to each other.

macro_rules! classes {
    ($($name:ident $id:literal $always:literal,)*) => {
        /// A class with anchors.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(super) enum Class { $(#[doc = $id] $name,)* }
        /// How many there are.
        pub(super) const CLASSES: usize = [$(Class::$name),*].len();
        /// All of them, in order.
        pub(super) const ALL: [Class; CLASSES] = [$(Class::$name),*];
        const IDS: [&str; CLASSES] = [$($id),*];
        const ALWAYS: [bool; CLASSES] = [$($always),*];
    };
}

// Name, id, and whether every usual output of more than three lines shows an anchor.
classes! {
    GitStatus "git-status" true,
    GitLog "git-log" true,
    GitDiff "git-diff" true,
    GitShow "git-show" true,
    GitStat "git-stat" false,
    GitCommit "git-commit" false,
    GitPush "git-push" false,
    GitPull "git-pull" false,
    GitBranch "git-branch" false,
    Diff "diff" true,
    CargoTest "test-cargo" true,
    CargoNextest "cargo-nextest" true,
    CargoBuild "cargo-build" true,
    CargoFmt "cargo-fmt" true,
    Pytest "test-pytest" true,
    Unittest "test-unittest" true,
    GoTest "test-go" true,
    GoBuild "go-build" false,
    Jest "test-jest" true,
    Vitest "test-vitest" true,
    Mocha "test-mocha" true,
    NodeTest "test-node" true,
    Playwright "playwright" true,
    Junit "test-junit" true,
    Rspec "rspec" true,
    Ctest "ctest" true,
    Maven "mvn" true,
    Gradle "gradle" false,
    Tsc "build-typescript" true,
    Eslint "build-eslint" true,
    Ruff "ruff" true,
    Flake8 "flake8" true,
    Pylint "pylint" true,
    Mypy "mypy" true,
    Pyright "pyright" true,
    Biome "biome" true,
    Prettier "prettier" false,
    Gcc "gcc" true,
    Make "make" false,
    Ninja "ninja" true,
    Cmake "cmake" true,
    Webpack "build-webpack" true,
    Vite "build-vite" true,
    Shellcheck "shellcheck" true,
    Golangci "golangci-lint" true,
    Javac "javac" true,
    Rubocop "rubocop" true,
    NpmInstall "npm-install" true,
    NpmAudit "npm-audit" false,
    Pip "pip" true,
    Uv "uv-sync" true,
    Poetry "poetry-install" false,
    Apt "apt-get" true,
    Dpkg "dpkg" false,
    TerraformPlan "terraform-plan" true,
    TerraformApply "terraform-apply" true,
    TerraformInit "terraform-init" false,
    TofuPlan "tofu-plan" true,
    Kubectl "kubectl" false,
    DockerPs "docker-ps" true,
    DockerBuild "docker-build" true,
    DockerImages "docker-images" false,
    Ansible "ansible-playbook" true,
    Systemctl "systemctl-status" false,
    Ls "shell-ls" false,
    Wc "wc" false,
    Tree "tree" false,
    Grep "shell-grep" false,
    Curl "curl" true,
    Wget "wget" false,
    Psql "psql" false,
    Rsync "rsync" false,
    Df "df" true,
    Ps "ps" false,
    Ping "ping" false,
    Progress "progress" false,
    Trace "error-stacktrace" true,
}

/// A set of classes.
pub(super) type Set = u128;

impl Class {
    /// The id of the class, which is that of its filter where there is one.
    pub(super) fn id(self) -> &'static str {
        IDS.get(self as usize).copied().unwrap_or_default()
    }

    /// Every usual output of more than three lines shows an anchor.
    pub(super) fn always(self) -> bool {
        ALWAYS.get(self as usize).copied().unwrap_or_default()
    }

    /// The set of this class alone.
    pub(super) const fn bit(self) -> Set {
        1 << self as u32
    }
}

/// The classes of a set.
pub(super) fn members(set: Set) -> impl Iterator<Item = Class> {
    ALL.into_iter().filter(move |class| set & class.bit() != 0)
}

/// The set of these classes.
pub(super) const fn set(classes: &[Class]) -> Set {
    let (mut set, mut at) = (0, 0);
    while at < classes.len() {
        set |= classes[at].bit();
        at += 1;
    }
    set
}

/// What cargo prints while it builds or tests.
pub(super) const CARGO: Set = set(&[Class::CargoTest, Class::CargoNextest, Class::CargoBuild]);
/// What a C build prints.
pub(super) const NATIVE: Set = set(&[Class::Gcc, Class::Make, Class::Ninja, Class::Cmake]);
/// Patches.
pub(super) const DIFFS: Set = set(&[Class::GitDiff, Class::GitShow, Class::Diff]);
/// What moves commits about.
const MOVES: Set = set(&[Class::GitPull, Class::GitPush, Class::GitCommit, Class::GitStat, Class::GitBranch]);
/// Runs of tests.
pub(super) const TESTS: Set = set(&[
    Class::CargoTest,
    Class::CargoNextest,
    Class::Pytest,
    Class::Unittest,
    Class::GoTest,
    Class::Jest,
    Class::Vitest,
    Class::Mocha,
    Class::NodeTest,
    Class::Playwright,
    Class::Junit,
    Class::Rspec,
    Class::Ctest,
    Class::Maven,
    Class::Gradle,
]);
/// Linters, formatters and type checkers.
pub(super) const LINTS: Set = set(&[
    Class::Tsc,
    Class::Eslint,
    Class::Ruff,
    Class::Flake8,
    Class::Pylint,
    Class::Mypy,
    Class::Pyright,
    Class::Biome,
    Class::Prettier,
    Class::Shellcheck,
    Class::Golangci,
    Class::Rubocop,
    Class::CargoBuild,
]);
/// Compilers and bundlers.
pub(super) const BUILDS: Set = set(&[
    Class::Tsc,
    Class::CargoBuild,
    Class::GoBuild,
    Class::Maven,
    Class::Gradle,
    Class::Gcc,
    Class::Make,
    Class::Ninja,
    Class::Cmake,
    Class::Webpack,
    Class::Vite,
    Class::Javac,
]);

/// The classes whose anchors may stand in the output of a filter id; empty when nothing is known of its text.
pub(super) fn accepted(id: &str) -> Set {
    let own = ALL.into_iter().find(|class| class.id() == id).map_or(0, Class::bit);
    own | match id {
        "cargo-fmt" => 0,
        "cargo-tree" => Class::Tree.bit(),
        "test-cargo" | "cargo-nextest" | "cargo-bench" | "cargo-llvm-cov" => CARGO,
        _ if id.starts_with("cargo-") => Class::CargoBuild.bit(),
        "git-diff" | "diff" => DIFFS,
        "git-show" => DIFFS | Class::GitLog.bit() | Class::GitStat.bit(),
        "git-log" => DIFFS | Class::GitStat.bit(),
        "git-stat" | "git-diff-stat" => Class::GitStat.bit(),
        "git-commit" | "git-push" => 0,
        "git-fetch" | "git-pull" | "git-merge" | "git-rebase" | "git-clone" | "git-stash" | "git-am"
        | "git-cherry-pick" | "git-revert" | "git-action" => MOVES,
        "go-build" | "go-vet" | "go-run" => Class::GoBuild.bit(),
        "test-go" => Class::GoBuild.bit(),
        "test-jest" | "test-vitest" | "test-mocha" | "ava" | "tap" => Class::NodeTest.bit(),
        "make" | "ninja" | "cmake" | "cmake-build" => NATIVE,
        "clang" | "cc" => Class::Gcc.bit(),
        "mvn" => Class::Junit.bit() | Class::Javac.bit(),
        "gradle" => Class::Junit.bit() | Class::Javac.bit(),
        "basedpyright" => Class::Pyright.bit(),
        "pnpm-install" | "yarn-install" | "bun-install" => Class::NpmInstall.bit(),
        "npm-install" => Class::NpmAudit.bit(),
        "npm-audit" | "npm-run" => Class::NpmInstall.bit(),
        "npm-ls" => Class::Tree.bit(),
        "uv-pip" | "uv-add" => Class::Uv.bit(),
        "apt" => Class::Apt.bit(),
        "terraform-plan" | "terraform-apply" | "terraform-destroy" | "tofu-plan" | "tofu-apply" => {
            set(&[Class::TerraformPlan, Class::TerraformApply, Class::TofuPlan, Class::TerraformInit])
        }
        "tofu-init" | "terraform-validate" => Class::TerraformInit.bit(),
        "docker-build" | "docker-images" => Class::DockerPs.bit(),
        "docker-compose" | "docker-compose-ps" => Class::DockerPs.bit() | Class::DockerBuild.bit(),
        "sqlite" | "sqlite3" | "mysql" | "duckdb" => Class::Psql.bit(),
        "xh" | "httpie" => Class::Curl.bit(),
        _ => 0,
    }
}

/// The class whose anchors are the text of this filter id before all others.
pub(super) fn main_class(id: &str) -> Option<Class> {
    let own = ALL.into_iter().find(|class| class.id() == id);
    own.or_else(|| members(accepted(id)).next().filter(|_| id.starts_with("cargo-") && id != "cargo-tree"))
}

/// The filter that covers the outputs of both, where one grammar holds the other.
pub(super) fn cover(one: &'static str, other: &'static str) -> Option<&'static str> {
    let build =
        |id: &str| id.starts_with("cargo-") && !matches!(id, "cargo-fmt" | "cargo-nextest" | "cargo-tree");
    match (one, other) {
        _ if one == other => Some(one),
        ("test-cargo", id) if build(id) => Some(one),
        (id, "test-cargo") if build(id) => Some(other),
        _ if build(one) && build(other) => Some(one),
        ("git-log", "git-show") | ("git-show", "git-log") => Some("git-log"),
        _ => None,
    }
}

/// True when a text of class `outer` usually contains anchors of `inner`, so that both together mean `outer`.
pub(super) fn absorbs(outer: Class, inner: Class) -> bool {
    use Class as C;
    let inner_set = inner.bit();
    if inner == C::Trace && outer != C::Trace {
        return true;
    }
    let inside = match outer {
        C::CargoTest => CARGO & !C::CargoNextest.bit(),
        C::CargoNextest => CARGO,
        C::Make => set(&[C::Gcc]),
        C::Ninja => set(&[C::Gcc, C::Cmake]),
        C::Cmake => set(&[C::Gcc, C::Make]),
        C::GitShow => set(&[C::GitDiff, C::Diff, C::GitStat, C::GitLog]),
        C::GitLog => set(&[C::GitDiff, C::Diff, C::GitStat]),
        C::GitDiff => set(&[C::Diff]),
        C::GitStatus => set(&[C::GitDiff, C::Diff]),
        C::Pip => set(&[C::Gcc]),
        C::GitPull | C::GitCommit => set(&[C::GitStat]),
        C::GoTest => set(&[C::GoBuild]),
        C::Maven | C::Gradle => set(&[C::Junit, C::Javac]),
        C::Playwright => set(&[C::Mocha, C::Jest]),
        C::TerraformApply => set(&[C::TerraformPlan, C::TerraformInit]),
        C::TerraformPlan => set(&[C::TerraformInit]),
        C::TofuPlan => set(&[C::TerraformPlan, C::TerraformInit]),
        C::DockerBuild => !0,
        C::NpmInstall => set(&[C::NpmAudit]),
        C::Ruff => set(&[C::Flake8]),
        C::Pylint => set(&[C::Flake8]),
        _ => 0,
    };
    outer != inner && inside & inner_set != 0
}

#[cfg(test)]
mod tests {
    use super::{ALL, CLASSES, Set, absorbs, accepted};

    #[test]
    fn ids_are_distinct_and_fit_the_set() {
        assert!(CLASSES <= Set::BITS as usize);
        let mut ids: Vec<_> = ALL.iter().map(|class| class.id()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), CLASSES);
    }

    #[test]
    fn a_class_is_accepted_by_its_own_id_and_absorption_has_no_circle() {
        for class in ALL {
            assert!(accepted(class.id()) & class.bit() != 0, "{class:?}");
            for other in ALL {
                assert!(!(absorbs(class, other) && absorbs(other, class)), "{class:?} {other:?}");
            }
        }
    }
}
