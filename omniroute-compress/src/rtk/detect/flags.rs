//! What flags ask for: a machine format, or detail.

/// Programs whose `-o` names a format.
const DASH_O: &[&str] =
    &["kubectl", "oc", "k", "helm", "az", "systemctl", "journalctl", "stern", "argocd", "flux", "gh", "oci"];
/// Values that are machine formats.
const MACHINE: &[&str] = &[
    "json",
    "jsonl",
    "ndjson",
    "json-lines",
    "yaml",
    "yml",
    "xml",
    "csv",
    "tsv",
    "sarif",
    "github",
    "junit",
    "checkstyle",
    "json-pretty",
    "jsonpath",
    "go-template",
    "jsonpath-as-json",
    "json-full",
    "stream-json",
];
/// Programs whose `-v` is no request for detail.
const OTHER_V: &[&str] = &[
    "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "awk", "gawk", "sort", "nl", "column", "pgrep",
    "pkill", "test", "command", "cmp", "date", "printf", "sed",
];
/// Test runners whose `-v` adds the names of the cases that passed, which become a count at every level.
const NAMES_ONLY: &[&str] = &[
    "pytest", "py.test", "unittest", "nose2", "vitest", "jest", "mocha", "rspec", "phpunit", "bats", "prove",
];
/// Search programs, for which `-A`, `-B`, `-C` ask for context.
const SEARCH: &[&str] = &["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep"];

/// True when a machine format was asked for.
pub(super) fn machine(words: &[String]) -> bool {
    let program = words.first().map_or("", String::as_str);
    let mut texts = words.iter().skip(1).map(String::as_str).take_while(|text| *text != "--").peekable();
    while let Some(text) = texts.next() {
        let next = texts.peek().copied();
        match text {
            "--json" | "-json" | "--jsonl" | "--ndjson" | "--sarif" | "--yaml" => {
                return !matches!(program, "pip" | "go") || program == "go" && text == "-json";
            }
            "--jq" if program == "gh" => return true,
            "-o" if DASH_O.contains(&program) => {
                if next.is_some_and(is_format) {
                    return true;
                }
            }
            "--output" | "--format" | "--message-format" | "--output-format" | "--reporter"
            | "--reporters" | "-f" | "--formatter" => {
                if (text != "-f"
                    || matches!(program, "eslint" | "shellcheck" | "phpcs" | "rubocop" | "hadolint"))
                    && next.is_some_and(is_format)
                {
                    return true;
                }
            }
            "--outputformat" => {}
            _ => {
                let attached = text
                    .strip_prefix("-o")
                    .filter(|_| DASH_O.contains(&program))
                    .map(|value| value.trim_start_matches('='));
                let long = [
                    "--output=",
                    "--format=",
                    "--message-format=",
                    "--output-format=",
                    "--reporter=",
                    "--reporters=",
                    "--format-version=",
                ]
                .iter()
                .find_map(|option| text.strip_prefix(option));
                if text.starts_with("--json=") || attached.or(long).is_some_and(is_format) {
                    return true;
                }
            }
        }
    }
    matches!((program, words.get(1).map(String::as_str)), ("cargo", Some("metadata")))
}

/// `json`, `json,…`, `jsonpath={…}`, a template in braces.
fn is_format(value: &str) -> bool {
    let value = value.trim_matches(['\'', '"']);
    let head = value.split(['=', ',', '(', ':']).next().unwrap_or(value);
    MACHINE.contains(&head) || value.starts_with("{{") || head.starts_with("json-diagnostic")
}

/// True when the command asked for detail that is usually left out.
pub(super) fn detail(words: &[String]) -> bool {
    let program = words.first().map_or("", String::as_str);
    let sub = words.get(1).map_or("", String::as_str);
    let search = SEARCH.contains(&program);
    let volumes = program == "docker" && matches!(sub, "run" | "compose" | "volume" | "create");
    let runner = NAMES_ONLY.contains(&program) || matches!((program, sub), ("go" | "cargo", "test"));
    let verbose = !volumes && !OTHER_V.contains(&program) && !runner;
    let mut texts = words.iter().skip(1).map(String::as_str).peekable();
    while let Some(text) = texts.next() {
        let next = texts.peek().copied();
        let asked = match text {
            "-v" | "--verbose" | "--reporter=verbose" => verbose,
            "-vv" | "-vvv" => verbose || runner,
            "--nocapture" | "--no-capture" | "--show-output" | "--capture=no" | "--showlocals"
            | "--tb=long" | "--full-trace" | "--stacktrace" | "--full-stacktrace" | "--debug"
            | "--word-diff" | "--color-words" | "--comments" | "--trace" | "--show-locals" => true,
            "-l" | "-s" | "-rA" | "-ra" => program == "pytest" && text != "-ra",
            "-x" => matches!(program, "psql" | "bash"),
            "-X" | "-e" => program == "mvn",
            "--info" => program == "gradle" || program == "gradlew",
            "--tb" => next == Some("long"),
            "--reporter" => next == Some("verbose") && verbose,
            "-A" | "-B" | "-C" | "--context" | "--after-context" | "--before-context" => search,
            _ if search => {
                let digits = text
                    .strip_prefix("-A")
                    .or_else(|| text.strip_prefix("-B"))
                    .or_else(|| text.strip_prefix("-C"));
                digits.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
                    || text.starts_with("--context=")
            }
            _ => {
                let unified = text.strip_prefix("-U").or_else(|| text.strip_prefix("--unified="));
                unified.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
                    || text.starts_with("--word-diff=")
                    || text.starts_with("--debug=")
            }
        };
        if asked {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{detail, machine};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn machine_formats() {
        for yes in [
            "kubectl get pods -o json",
            "kubectl get pods -oyaml",
            "kubectl get pods -o jsonpath={.items}",
            "docker ps --format {{.Names}}",
            "cargo build --message-format=json",
            "eslint -f json src",
            "go test -json ./...",
            "gh pr list --json title",
            "aws ec2 x --output json",
            "ruff check --output-format sarif",
            "npm audit --json",
            "vitest --reporter=json",
            "rg --json x",
            "terraform show -json",
        ] {
            assert!(machine(&words(yes)), "{yes}");
        }
        for no in [
            "kubectl get pods -o wide",
            "gcc -o json a.c",
            "git log --format=%h",
            "ruff check --output-format concise",
            "cargo test -- --json",
            "jest --ci",
            "kubectl get pods -o custom-columns=A:.b",
            "cargo check --message-format short",
        ] {
            assert!(!machine(&words(no)), "{no}");
        }
    }

    #[test]
    fn asked_for_detail() {
        for yes in [
            "pytest -vv",
            "cargo test -- --nocapture",
            "grep -n -C3 x y",
            "git diff -U10",
            "git diff --word-diff",
            "pytest --tb=long -q",
            "pytest -l",
            "curl -v x",
            "gradle test --stacktrace",
            "gh pr view 1 --comments",
            "psql -x -c y",
            "pytest -rA",
        ] {
            assert!(detail(&words(yes)), "{yes}");
        }
        for no in [
            "go test -v ./...",
            "vitest run --reporter=verbose",
            "grep -v x y",
            "ls -l",
            "pytest -x",
            "git diff -U",
            "docker run -v a:b c",
            "git log -n 3",
            "cargo build",
            "sort -v",
        ] {
            assert!(!detail(&words(no)), "{no}");
        }
    }
}
