//! From the words of a command to the id of its filter: global options, aliases, class-changing flags.

use crate::shell::args::program_name;
use crate::shell::script::Word;

/// The registry's longest-prefix lookup.
pub(crate) type Lookup<'l> = dyn Fn(&[&str]) -> Option<&'static str> + 'l;

/// Options before the subcommand that take a value, by program.
const VALUES: &[(&str, &[&str])] = &[
    ("git", &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"]),
    ("cargo", &["--manifest-path", "--config", "-Z", "-C", "--color", "--target-dir"]),
    ("docker", &["--context", "-c", "-H", "--host", "--config", "-l", "--log-level"]),
    ("podman", &["--connection", "-c", "--url", "--log-level"]),
    ("nerdctl", &["-n", "--namespace", "-H", "--host"]),
    ("docker-compose", COMPOSE),
    ("podman-compose", COMPOSE),
    ("kubectl", KUBE),
    ("oc", KUBE),
    ("k", KUBE),
    ("helm", &["-n", "--namespace", "--kube-context", "--kubeconfig"]),
    ("npm", &["--prefix", "-C", "-w", "--workspace", "--loglevel", "--registry"]),
    ("pnpm", &["--filter", "-F", "-C", "--dir", "--prefix"]),
    ("yarn", &["--cwd"]),
    ("bun", &["--cwd"]),
    ("go", &["-C"]),
    ("terraform", &[]),
    ("tofu", &[]),
    ("terragrunt", &[]),
    ("golangci-lint", &["--color", "-c", "--config"]),
    ("gh", &["-R", "--repo"]),
    ("glab", &["-R", "--repo"]),
    ("uv", &["--directory", "--project", "--color", "--python", "-p"]),
    ("poetry", &["-C", "--directory", "-P", "--project"]),
    ("pip", &["--python", "--proxy", "--log"]),
    ("pip3", &["--python", "--proxy", "--log"]),
    ("aws", &["--profile", "--region", "--output", "--endpoint-url", "--query", "--color"]),
    ("gcloud", &["--project", "--account", "--format", "--configuration"]),
    ("az", &["--subscription", "--output", "-o"]),
    ("systemctl", &["-H", "-M", "-t", "-n", "-o"]),
    ("apt-get", &["-o", "-c", "-t"]),
    ("apt", &["-o", "-c", "-t"]),
    ("dnf", &[]),
    ("bundle", &[]),
    ("composer", &["-d", "--working-dir"]),
    ("dotnet", &[]),
    ("ruff", &["--config"]),
    ("biome", &["--config-path"]),
    ("playwright", &[]),
    ("nx", &[]),
    ("turbo", &[]),
    ("brew", &[]),
    ("conda", &[]),
    ("swift", &[]),
    ("mix", &[]),
    ("deno", &[]),
    ("prisma", &[]),
    ("next", &[]),
    ("vite", &[]),
];
const COMPOSE: &[&str] =
    &["-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory", "--ansi"];
const KUBE: &[&str] = &[
    "-n",
    "--namespace",
    "--context",
    "--kubeconfig",
    "--cluster",
    "--user",
    "-s",
    "--server",
    "--as",
    "-v",
    "--v",
];
/// Programs that are another one for the registry, when it does not know them by their own name.
const ALIASES: &[(&str, &[&str])] = &[
    ("pip3", &["pip"]),
    ("py.test", &["pytest"]),
    ("podman", &["docker"]),
    ("nerdctl", &["docker"]),
    ("docker-compose", &["docker", "compose"]),
    ("podman-compose", &["docker", "compose"]),
    ("tofu", &["terraform"]),
    ("terragrunt", &["terraform"]),
    ("oc", &["kubectl"]),
    ("k", &["kubectl"]),
    ("egrep", &["grep"]),
    ("fgrep", &["grep"]),
    ("zgrep", &["grep"]),
    ("ripgrep", &["rg"]),
    ("ag", &["rg"]),
    ("ugrep", &["grep"]),
    ("gmake", &["make"]),
    ("nodejs", &["node"]),
    ("gradlew", &["gradle"]),
    ("mvnw", &["mvn"]),
    ("cc", &["gcc"]),
    ("g++", &["gcc"]),
    ("c++", &["gcc"]),
    ("clang", &["gcc"]),
    ("clang++", &["gcc"]),
    ("samu", &["ninja"]),
    ("apt", &["apt-get"]),
    ("fdfind", &["fd"]),
    ("dir", &["ls"]),
    ("vdir", &["ls"]),
    ("tsgo", &["tsc"]),
    ("vue-tsc", &["tsc"]),
    ("basedpyright", &["pyright"]),
    ("dmypy", &["mypy"]),
];
/// Short names of subcommands.
const SHORT: &[(&str, &str, &str)] = &[
    ("cargo", "b", "build"),
    ("cargo", "c", "check"),
    ("cargo", "t", "test"),
    ("cargo", "d", "doc"),
    ("npm", "i", "install"),
    ("npm", "add", "install"),
    ("npm", "up", "update"),
    ("npm", "list", "ls"),
    ("npm", "run-script", "run"),
    ("pnpm", "i", "install"),
    ("pnpm", "up", "update"),
    ("bun", "i", "install"),
    ("git", "annotate", "blame"),
];
/// Flags that make another class of the same subcommand, when the registry has one.
const CHANGES: &[&str] = &[
    "--stat",
    "--numstat",
    "--shortstat",
    "--name-only",
    "--name-status",
    "--dirstat",
    "--word-diff",
    "--color-words",
    "--summary",
    "-json",
];

/// Program and arguments as they are looked up: directories, version suffixes and global options gone.
pub(super) fn plain(words: &[Word<'_>]) -> Vec<String> {
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    let program = program_name(first).unwrap_or(first.text.as_ref());
    let program = unversioned(program);
    let mut plain = vec![program.to_owned()];
    let mut at = 0;
    if let Some((_, values)) = VALUES.iter().find(|(name, _)| *name == program) {
        at = skip(rest, at, values);
        if program == "docker" && rest.get(at).is_some_and(|word| word.text == "compose") {
            plain.push("compose".to_owned());
            at = skip(rest, at + 1, COMPOSE);
        }
    }
    plain.extend(rest.iter().skip(at).map(|word| word.text.clone().into_owned()));
    plain
}

/// Index behind the options that start at `at`; of options alone nothing is skipped.
fn skip(words: &[Word<'_>], at: usize, values: &[&str]) -> usize {
    let mut end = at;
    while let Some(word) = words.get(end) {
        let text = word.text.as_ref();
        if values.contains(&text) {
            end += 2;
        } else if text.starts_with('-') || text.starts_with('+') {
            end += 1;
        } else {
            return end;
        }
    }
    at
}

/// `gcc-12` is `gcc`, `pip3.11` is `pip3`.
fn unversioned(program: &str) -> &str {
    let head = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    match head {
        "gcc" | "g++" | "clang" | "clang++" | "clang-tidy" | "clang-format" | "gcc-ar" => head,
        "pip" | "pytest" => head,
        _ => program,
    }
}

/// The id of the filter for these words, and whether a subcommand was part of the match.
pub(super) fn find(words: &[String], is_command: &Lookup<'_>) -> Option<(&'static str, bool)> {
    let mut all: Vec<&str> = words.iter().map(String::as_str).collect();
    // What is asked for is a prefix: the rest of a long command line does not matter.
    all.truncate(12);
    let (program, rest) = all.split_first()?;
    if let Some((_, short, long)) =
        SHORT.iter().find(|(name, short, _)| name == program && rest.first() == Some(short))
    {
        let mut long_words = all.clone();
        if let Some(word) = long_words.iter_mut().find(|word| *word == short) {
            *word = long;
        }
        if let Some(found) = lookup(&long_words, is_command) {
            return Some(found);
        }
    }
    lookup(&all, is_command).or_else(|| {
        let (_, alias) = ALIASES.iter().find(|(name, _)| name == program)?;
        let words: Vec<&str> = alias.iter().chain(rest).copied().collect();
        lookup(&words, is_command)
    })
}

fn lookup(words: &[&str], is_command: &Lookup<'_>) -> Option<(&'static str, bool)> {
    let id = is_command(words)?;
    let short = words.get(..1).and_then(is_command);
    Some((id, short != Some(id)))
}

/// The class of a flag that changes what is printed: `Some(None)` when the flag stands there and has no class.
pub(super) fn changed(words: &[String], is_command: &Lookup<'_>) -> Option<Option<&'static str>> {
    let flag =
        words.iter().skip(2).map(String::as_str).take_while(|word| *word != "--").find_map(|word| {
            CHANGES.iter().find(|flag| {
                word.strip_prefix(**flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            })
        })?;
    let program = words.first()?.as_str();
    if *flag == "-json" && program != "go" || *flag != "-json" && program != "git" {
        return None;
    }
    let sub = words.get(1)?.as_str();
    // A log keeps its class: its statistics stand below their commits.
    if sub == "log" || sub == "show" && matches!(*flag, "--stat" | "--summary") {
        return None;
    }
    let with = is_command(&[program, sub, flag]);
    let without = is_command(&[program, sub]);
    Some(with.filter(|_| with != without))
}

#[cfg(test)]
mod tests {
    use super::{changed, find, plain};
    use crate::shell::lex;

    fn words(command: &str) -> Vec<String> {
        let script = lex::parse(command);
        plain(&script.segments.first().expect("one command").words)
    }

    #[test]
    fn words_without_global_options() {
        for (command, expected) in [
            ("git -C p -c a=b --no-pager status -s", "git status -s"),
            ("/usr/bin/git log", "git log"),
            ("cargo +nightly --color never test --lib", "cargo test --lib"),
            ("docker --context x compose -f a.yml up -d", "docker compose up -d"),
            ("kubectl -n ns get pods", "kubectl get pods"),
            ("npm --prefix d run x", "npm run x"),
            ("gcc-12 -c a.c", "gcc -c a.c"),
            ("node --version", "node --version"),
            ("git --version", "git --version"),
            ("make -C d -j8 x", "make -C d -j8 x"),
            ("terraform -chdir=x plan", "terraform plan"),
        ] {
            assert_eq!(words(command).join(" "), expected, "{command}");
        }
    }

    #[test]
    fn ids_aliases_and_flags() {
        let table = |words: &[&str]| match words {
            ["git", "diff", "--stat", ..] => Some("git-stat"),
            ["git", "diff", ..] => Some("git-diff"),
            ["pytest", ..] => Some("test-pytest"),
            ["docker", "compose", "logs", ..] => Some("docker-logs"),
            ["cargo", "test", ..] => Some("test-cargo"),
            _ => None,
        };
        for (command, expected) in [
            ("git diff a b", Some(("git-diff", true))),
            ("pytest -q", Some(("test-pytest", false))),
            ("docker-compose -f x logs a", Some(("docker-logs", true))),
            ("cargo t", Some(("test-cargo", true))),
            ("frob", None),
        ] {
            assert_eq!(find(&words(command), &table), expected, "{command}");
        }
        assert_eq!(changed(&words("git diff HEAD --stat"), &table), Some(Some("git-stat")));
        assert_eq!(changed(&words("git diff --name-only"), &table), Some(None));
        assert_eq!(changed(&words("git diff"), &table), None);
    }
}
