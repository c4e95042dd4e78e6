//! The text anchors, one file a family. A rule looks at one line (and the one before) and never searches far.

mod build;
mod git;
mod infra;
mod lint;
mod native;
mod package;
mod shell;
mod tests_js;
mod tests_run;
mod trace;

pub(super) use git::hunk_counts;

use super::board::Board;
use super::classes::{Class as C, Set, set};
use super::line::Line;

/// Longest part of a line that is looked at.
const MAX_LINE: usize = 2048;

/// Notes on the board what `raw` is evidence of; families without a wanted class are passed over.
pub(super) fn scan(raw: &[u8], before: &[u8], number: u32, wanted: Set, board: &mut Board) {
    let raw = raw.get(..raw.len().min(MAX_LINE)).unwrap_or_default();
    let line = Line::new(raw, before, number);
    if line.body.is_empty() {
        return;
    }
    board.lines += 1;
    if line.is_bare() {
        return;
    }
    for (classes, family) in FAMILIES {
        if classes & wanted != 0 {
            family(&line, board);
        }
    }
}

/// A family: its classes and its rules.
type Family = (Set, fn(&Line<'_>, &mut Board));

const FAMILIES: &[Family] = &[
    (
        set(&[
            C::GitStatus,
            C::GitLog,
            C::GitDiff,
            C::Diff,
            C::GitStat,
            C::GitCommit,
            C::GitPush,
            C::GitPull,
            C::GitBranch,
        ]),
        git::scan,
    ),
    (
        set(&[
            C::CargoTest,
            C::CargoNextest,
            C::Pytest,
            C::Unittest,
            C::GoTest,
            C::Junit,
            C::Rspec,
            C::Ctest,
        ]),
        tests_run::scan,
    ),
    (set(&[C::Jest, C::Vitest, C::Mocha, C::NodeTest, C::Playwright]), tests_js::scan),
    (set(&[C::CargoBuild, C::CargoFmt, C::Gcc, C::Make, C::Ninja, C::Cmake, C::GoBuild]), native::scan),
    (set(&[C::Tsc, C::Webpack, C::Vite, C::Javac, C::Maven, C::Gradle]), build::scan),
    (
        set(&[
            C::Eslint,
            C::Ruff,
            C::Flake8,
            C::Prettier,
            C::Shellcheck,
            C::Pylint,
            C::Mypy,
            C::Pyright,
            C::Biome,
            C::Golangci,
            C::Rubocop,
        ]),
        lint::scan,
    ),
    (set(&[C::NpmInstall, C::NpmAudit, C::Pip, C::Uv, C::Poetry, C::Apt, C::Dpkg]), package::scan),
    (
        set(&[
            C::TerraformPlan,
            C::Ansible,
            C::TerraformApply,
            C::TerraformInit,
            C::TofuPlan,
            C::Kubectl,
            C::DockerPs,
            C::DockerImages,
            C::DockerBuild,
            C::Systemctl,
        ]),
        infra::scan,
    ),
    (
        set(&[
            C::Ls,
            C::Wc,
            C::Tree,
            C::Grep,
            C::Curl,
            C::Wget,
            C::Psql,
            C::Rsync,
            C::Df,
            C::Ps,
            C::Ping,
            C::Progress,
        ]),
        shell::scan,
    ),
    (set(&[C::Trace]), trace::scan),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn rules_have_their_own_bit_and_name() {
        let families = [
            super::git::ALL,
            super::tests_run::ALL,
            super::tests_js::ALL,
            super::native::ALL,
            super::build::ALL,
            super::lint::ALL,
            super::package::ALL,
            super::infra::ALL,
            super::shell::ALL,
            super::trace::ALL,
        ];
        let (mut bits, mut names) = (HashSet::new(), HashSet::new());
        for (rules, (classes, _)) in families.iter().zip(super::FAMILIES) {
            assert!(rules.iter().all(|rule| classes & rule.class.bit() != 0));
        }
        for rule in families.into_iter().flatten() {
            assert!(rule.bit < 32, "{rule:?}");
            assert!(bits.insert((rule.class, rule.bit)), "{rule:?}");
            assert!(names.insert((rule.class, rule.name)), "{rule:?}");
        }
    }
}
