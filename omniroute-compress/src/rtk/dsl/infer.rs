//! The category of a filter whose file does not name one, from words of its name and command.

use super::model::Category;

const WORDS: &[(Category, &[&str])] = &[
    (Category::Git, &["git", "gt", "jj", "yadm", "hg", "svn"]),
    (
        Category::Test,
        &[
            "test",
            "tests",
            "pytest",
            "jest",
            "vitest",
            "mocha",
            "rspec",
            "bats",
            "playwright",
            "cypress",
            "phpunit",
            "nextest",
        ],
    ),
    (Category::Docker, &["docker", "podman", "compose", "buildx", "skopeo", "nerdctl"]),
    (
        Category::Package,
        &[
            "npm", "pnpm", "yarn", "bun", "pip", "uv", "poetry", "pdm", "conda", "bundle", "composer",
            "brew", "apt", "dnf", "apk", "cpanm", "gem", "install", "mise", "fnm",
        ],
    ),
    (
        Category::Infra,
        &[
            "terraform",
            "tofu",
            "ansible",
            "playbook",
            "helm",
            "systemctl",
            "journalctl",
            "iptables",
            "fail2ban",
            "pulumi",
            "liquibase",
            "sops",
        ],
    ),
    (
        Category::Cloud,
        &[
            "aws", "gcloud", "az", "kubectl", "argocd", "gh", "glab", "curl", "wget", "ssh", "rsync",
            "gsutil", "bq", "dig", "ping",
        ],
    ),
    (
        Category::Build,
        &[
            "make",
            "build",
            "lint",
            "gradle",
            "gradlew",
            "mvn",
            "ant",
            "bazel",
            "cargo",
            "tsc",
            "eslint",
            "gcc",
            "clang",
            "cmake",
            "ninja",
            "swift",
            "xcodebuild",
            "dotnet",
            "mypy",
            "ruff",
            "shellcheck",
            "hadolint",
            "yamllint",
            "turbo",
            "nx",
            "just",
            "task",
            "trunk",
            "biome",
            "prettier",
            "rubocop",
            "phpstan",
            "go",
            "mix",
            "check",
            "compile",
            "format",
        ],
    ),
    (
        Category::Shell,
        &[
            "ls", "grep", "rg", "ag", "find", "fd", "tree", "du", "df", "ps", "stat", "cat", "wc", "eza",
            "pgrep", "crontab",
        ],
    ),
];

/// The first category of which a word stands in the name, then in the command.
pub(crate) fn category(name: &str, command: &str) -> Category {
    for text in [name, command] {
        let words = || text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
        let found = WORDS.iter().find(|(_, list)| words().any(|w| list.contains(&w)));
        if let Some((category, _)) = found {
            return *category;
        }
    }
    Category::Generic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_first() {
        for (name, command, expected) in [
            ("git-fetch", "^git\\s+fetch", Category::Git),
            ("docker-build", "", Category::Docker),
            ("thing", r"^(?:sudo\s+)?terraform\s+plan", Category::Infra),
            ("swift-test", "^swift test", Category::Test),
            ("x", "^frobnicate", Category::Generic),
        ] {
            assert_eq!(category(name, command), expected, "{name}");
        }
    }
}
