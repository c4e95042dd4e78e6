//! The table of programs that only run another program, and how their own words are skipped.

use super::args::is_assignment;
use super::script::Word;

/// How one wrapper's own words are skipped.
pub(super) struct Wrapper {
    /// Program name and the subcommands that make it a wrapper.
    name: &'static [&'static str],
    /// Options whose value is the next word.
    values: &'static [&'static str],
    /// Operands before the wrapped command.
    skip: usize,
    /// The command must follow a `--`.
    dashes: bool,
}

const fn wrapper(
    name: &'static [&'static str],
    values: &'static [&'static str],
    skip: usize,
    dashes: bool,
) -> Wrapper {
    Wrapper { name, values, skip, dashes }
}

const UV: &[&str] = &[
    "--with",
    "--with-editable",
    "--with-requirements",
    "-p",
    "--python",
    "--project",
    "--directory",
    "--extra",
    "--group",
    "--only-group",
    "--package",
    "--env-file",
    "--index",
    "--index-url",
    "--extra-index-url",
    "--cache-dir",
    "--color",
    "--from",
];
const SUDO: &[&str] = &[
    "-u", "-g", "-h", "-p", "-C", "-T", "-D", "-R", "-U", "-r", "-t", "--user", "--group", "--chdir",
    "--host",
];
const EXEC: &[&str] =
    &["-e", "--env", "--env-file", "-u", "--user", "-w", "--workdir", "--detach-keys", "--index"];
/// Options of `docker compose` that take a value.
pub(in crate::shell) const COMPOSE: &[&str] =
    &["-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory", "--ansi"];
const KUBE: &[&str] = &[
    "-n",
    "--namespace",
    "-c",
    "--container",
    "--context",
    "--kubeconfig",
    "--cluster",
    "--user",
    "-s",
    "--server",
];

/// Longer names first where one is the beginning of another.
pub(super) const WRAPPERS: &[Wrapper] = &[
    wrapper(&["sudo"], SUDO, 0, false),
    wrapper(&["doas"], &["-u", "-C"], 0, false),
    wrapper(&["env"], &["-u", "--unset", "-C", "--chdir"], 0, false),
    wrapper(&["cross-env"], &[], 0, false),
    wrapper(&["time"], &["-f", "--format", "-o", "--output"], 0, false),
    wrapper(&["nice"], &["-n", "--adjustment"], 0, false),
    wrapper(&["ionice"], &["-c", "-n", "-p"], 0, false),
    wrapper(&["nohup"], &[], 0, false),
    wrapper(&["setsid"], &[], 0, false),
    wrapper(&["timeout"], &["-s", "--signal", "-k", "--kill-after"], 1, false),
    wrapper(&["gtimeout"], &["-s", "--signal", "-k", "--kill-after"], 1, false),
    wrapper(&["stdbuf"], &["-i", "-o", "-e"], 0, false),
    wrapper(&["taskset"], &[], 1, false),
    wrapper(&["xvfb-run"], &["-s", "--server-args", "-n", "--server-num", "-e", "-f", "-w"], 0, false),
    wrapper(&["unbuffer"], &[], 0, false),
    wrapper(&["caffeinate"], &["-t", "-w"], 0, false),
    wrapper(&["builtin"], &[], 0, false),
    wrapper(&["exec"], &["-a"], 0, false),
    wrapper(&["busybox"], &[], 0, false),
    wrapper(&["rtk"], &[], 0, false),
    wrapper(&["npx"], &["-p", "--package", "-w", "--workspace"], 0, false),
    wrapper(&["pnpx"], &["--package"], 0, false),
    wrapper(&["bunx"], &["--package"], 0, false),
    wrapper(&["npm", "exec"], &["-p", "--package", "-w", "--workspace", "--prefix"], 0, false),
    wrapper(&["npm", "x"], &["-p", "--package", "-w", "--workspace", "--prefix"], 0, false),
    wrapper(&["pnpm", "exec"], &["--filter", "-F", "-C", "--dir"], 0, false),
    wrapper(&["pnpm", "dlx"], &["--package", "-C", "--dir"], 0, false),
    wrapper(&["yarn", "dlx"], &["-p", "--package"], 0, false),
    wrapper(&["yarn", "exec"], &["--cwd"], 0, false),
    wrapper(&["bun", "x"], &[], 0, false),
    wrapper(&["uv", "run"], UV, 0, false),
    wrapper(&["uv", "tool", "run"], UV, 0, false),
    wrapper(&["uvx"], UV, 0, false),
    wrapper(&["pipx", "run"], &["--spec", "--python"], 0, false),
    wrapper(&["poetry", "run"], &["-C", "--directory", "-P", "--project"], 0, false),
    wrapper(&["pipenv", "run"], &[], 0, false),
    wrapper(&["rye", "run"], &[], 0, false),
    wrapper(&["hatch", "run"], &["-e", "--env"], 0, false),
    wrapper(&["pdm", "run"], &["-p", "--project"], 0, false),
    wrapper(&["conda", "run"], &["-n", "--name", "-p", "--prefix", "--cwd"], 0, false),
    wrapper(&["mamba", "run"], &["-n", "--name", "-p", "--prefix", "--cwd"], 0, false),
    wrapper(&["micromamba", "run"], &["-n", "--name", "-p", "--prefix", "--cwd"], 0, false),
    wrapper(&["bundle", "exec"], &[], 0, false),
    wrapper(&["rbenv", "exec"], &[], 0, false),
    wrapper(&["pyenv", "exec"], &[], 0, false),
    wrapper(&["asdf", "exec"], &[], 0, false),
    wrapper(&["volta", "run"], &["--node", "--npm"], 0, false),
    wrapper(&["rustup", "run"], &[], 1, false),
    wrapper(&["direnv", "exec"], &[], 1, false),
    wrapper(&["mise", "exec"], &[], 0, true),
    wrapper(&["mise", "x"], &[], 0, true),
    wrapper(&["op", "run"], &[], 0, true),
    wrapper(&["doppler", "run"], &[], 0, true),
    wrapper(&["aws-vault", "exec"], &[], 0, true),
    wrapper(&["docker", "compose", "exec"], EXEC, 1, false),
    wrapper(&["docker-compose", "exec"], EXEC, 1, false),
    wrapper(&["docker", "exec"], EXEC, 1, false),
    wrapper(&["podman", "exec"], EXEC, 1, false),
    wrapper(&["kubectl", "exec"], KUBE, 0, true),
    wrapper(&["nyc"], &["--reporter", "-r"], 0, false),
    wrapper(&["c8"], &["--reporter", "-r"], 0, false),
    wrapper(&["coverage", "run", "-m"], &[], 0, false),
];

impl Wrapper {
    /// The wrapped command, when `name` and `args` are this wrapper with something to run.
    pub(super) fn unwrap<'w, 'a>(&self, name: &str, args: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
        let (first, subs) = self.name.split_first()?;
        if name != *first {
            return None;
        }
        let mut at = 0;
        for sub in subs {
            // Global options before the subcommand.
            while args.get(at).is_some_and(|word| word.text.starts_with('-') && word.text != *sub) {
                let text = args.get(at)?.text.as_ref();
                let global =
                    self.values.contains(&text) || COMPOSE.contains(&text) && name.starts_with("docker");
                at += 1 + usize::from(global);
            }
            if args.get(at)?.text != *sub {
                return None;
            }
            at += 1;
        }
        if self.dashes {
            let dashes = args.iter().skip(at).position(|word| word.text == "--")?;
            return args.get(at + dashes + 1..).filter(|rest| !rest.is_empty());
        }
        let mut skip = self.skip;
        loop {
            let word = args.get(at)?;
            let text = word.text.as_ref();
            if text == "--" {
                at += 1;
            } else if self.values.contains(&text) {
                at += 2;
            } else if text == "-m" && name == "uv" {
                return args.get(at..);
            } else if matches!(text, "-c" | "-S" | "--call") {
                // A command in a string: not simply the words that follow.
                return None;
            } else if text.starts_with(['-', '+']) || is_assignment(word) {
                at += 1;
            } else if skip > 0 {
                skip -= 1;
                at += 1;
            } else {
                return args.get(at..);
            }
        }
    }
}
