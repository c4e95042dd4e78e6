//! Containers, clusters, clouds, services and network clients.

use super::Kind;
use crate::shell::args::Args;
use crate::shell::wrapper_table::COMPOSE;

const VIEW: Kind = Kind::File { log: false };
const KUBE_VALUES: &[&str] = &[
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

/// The kind of an infrastructure command, `None` when the program is none.
pub(super) fn kind(name: &str, args: Args<'_, '_>) -> Option<Kind> {
    Some(match name {
        "docker" | "podman" | "nerdctl" => docker(args),
        "docker-compose" | "podman-compose" => compose(args),
        "kubectl" | "oc" | "k" => kubectl(args),
        "stern" => Kind::Logs,
        "helm" => helm(args),
        "terraform" | "tofu" | "terragrunt" => terraform(args),
        "ansible-playbook" if !args.has(&["--diff", "-D"]) => Kind::Command,
        "packer" => Kind::Command,
        "aws" => aws(args),
        "gcloud" | "az" | "gsutil" | "bq" => cloud(args),
        "journalctl"
            if args
                .value(&["-o", "--output"])
                .is_some_and(|format| format.starts_with("cat") || format.starts_with("json")) =>
        {
            Kind::Logs
        }
        "journalctl" | "dmesg" => Kind::Journal,
        "systemctl" | "service" | "launchctl" => match args.subcommand(&["-H", "-M", "-t", "-n", "-o"]) {
            Some(("cat" | "edit" | "show-environment" | "print", _)) => VIEW,
            _ => Kind::Command,
        },
        "crontab" if args.flag('l') => VIEW,
        "curl" => curl(args),
        "wget" => wget(args),
        "http" | "https" | "xh" | "httpie" => Kind::Data,
        _ => return None,
    })
}

/// A machine-readable form was asked for; YAML and templates can hold whole files.
fn formatted(args: Args<'_, '_>) -> bool {
    args.value(&["-o", "--output", "--format"]).is_some_and(|format| {
        let format = format.trim_start_matches('=');
        !matches!(format, "wide" | "name" | "table" | "text")
            && !format.starts_with("custom-columns")
            && !format.starts_with("table")
    })
}

fn docker(args: Args<'_, '_>) -> Kind {
    match args.subcommand(&["--context", "-c", "-H", "--host", "--config", "-l", "--log-level"]) {
        None => Kind::Command,
        Some(("compose", args)) => compose(args),
        Some(("container" | "image", rest)) => match rest.subcommand(&[]) {
            Some((sub, rest)) => docker_command(sub, rest),
            None => Kind::Command,
        },
        Some((sub, rest)) => docker_command(sub, rest),
    }
}

fn docker_command(sub: &str, args: Args<'_, '_>) -> Kind {
    match sub {
        "logs" => Kind::Logs,
        "inspect" => Kind::Data,
        "cp" | "save" | "export" if args.texts().any(|text| text == "-") => VIEW,
        // Behind the image the words are the container's own.
        "run" if args.texts().next().is_some_and(|first| matches!(first, "-d" | "--detach")) => Kind::Command,
        "start" if args.flag('a') || args.flag('i') || args.has(&["--attach", "--interactive"]) => Kind::Logs,
        "ps" | "ls" | "images" | "build" | "buildx" | "pull" | "push" | "tag" | "rmi" | "rm" | "stop"
        | "start" | "restart" | "kill" | "pause" | "unpause" | "stats" | "version" | "info" | "system"
        | "network" | "volume" | "login" | "logout" | "history" | "top" | "port" | "events" | "create"
        | "commit" | "load" | "save" | "prune" | "rename" | "update" | "wait" | "cp" | "diff" | "search" => {
            Kind::Command
        }
        _ => Kind::Unknown,
    }
}

fn compose(args: Args<'_, '_>) -> Kind {
    match args.subcommand(COMPOSE) {
        Some(("logs", _)) => Kind::Logs,
        Some(("up", rest)) if !rest.has(&["-d", "--detach", "--wait"]) && !rest.flag('d') => Kind::Logs,
        Some((
            "up" | "down" | "ps" | "build" | "pull" | "push" | "restart" | "start" | "stop" | "rm" | "kill"
            | "ls" | "images" | "top" | "create" | "pause" | "unpause" | "version" | "port",
            _,
        ))
        | None => Kind::Command,
        _ => Kind::Unknown,
    }
}

fn kubectl(args: Args<'_, '_>) -> Kind {
    let Some((sub, rest)) = args.subcommand(KUBE_VALUES) else {
        return Kind::Command;
    };
    // Config maps and secrets hold files.
    let holds_files = rest.texts().any(|text| {
        let mut kinds = text.split([',', '/']);
        kinds.any(|kind| matches!(kind, "cm" | "configmap" | "configmaps" | "secret" | "secrets"))
    });
    match sub {
        "logs" => Kind::Logs,
        "diff" => Kind::Diff,
        "config" if rest.texts().any(|text| text == "view") => Kind::Data,
        "get" | "describe" if formatted(args) => Kind::Data,
        "describe" if holds_files => Kind::Unknown,
        "get" if holds_files && rest.texts().any(|text| text.contains("custom-columns")) => Kind::Unknown,
        "apply" | "create" | "delete" | "patch" | "scale" | "label" | "annotate" | "expose" | "set"
        | "run" | "replace" | "rollout"
            if formatted(args) =>
        {
            Kind::Data
        }
        "run" if rest.has(&["-i", "-t", "-it", "-ti", "--stdin", "--tty", "--attach"]) => Kind::Unknown,
        "get" | "describe" | "apply" | "create" | "delete" | "patch" | "scale" | "label" | "annotate"
        | "expose" | "set" | "run" | "replace" | "rollout" | "top" | "events" | "version"
        | "cluster-info" | "api-resources" | "api-versions" | "wait" | "cordon" | "uncordon" | "drain"
        | "taint" | "autoscale" | "auth" | "config" | "explain" | "port-forward" => Kind::Command,
        _ => Kind::Unknown,
    }
}

fn helm(args: Args<'_, '_>) -> Kind {
    match args.subcommand(&["-n", "--namespace", "--kube-context", "--kubeconfig"]) {
        _ if formatted(args) || args.has(&["--dry-run", "--debug"]) => Kind::Data,
        Some(("diff", _)) => Kind::Diff,
        Some((
            "list" | "ls" | "install" | "upgrade" | "uninstall" | "rollback" | "repo" | "history" | "search"
            | "lint" | "dependency" | "dep" | "version" | "pull" | "package",
            _,
        ))
        | None => Kind::Command,
        _ => Kind::Unknown,
    }
}

fn terraform(args: Args<'_, '_>) -> Kind {
    match args.subcommand(&[]) {
        Some(("fmt", rest)) if rest.has(&["-diff"]) => Kind::Diff,
        Some(("fmt", rest)) if rest.texts().any(|text| text == "-") => VIEW,
        Some(("state", rest)) => match rest.subcommand(&[]) {
            Some(("list" | "mv" | "rm" | "replace-provider", _)) => Kind::Command,
            _ => Kind::Unknown,
        },
        Some(("output", _)) => Kind::Data,
        Some((
            "plan" | "apply" | "destroy" | "init" | "validate" | "refresh" | "import" | "workspace"
            | "providers" | "version" | "get" | "force-unlock" | "taint" | "untaint" | "fmt" | "login",
            rest,
        )) => {
            if rest.has(&["-json"]) {
                Kind::Data
            } else {
                Kind::Command
            }
        }
        None => Kind::Command,
        _ => Kind::Unknown,
    }
}

fn aws(args: Args<'_, '_>) -> Kind {
    const VALUES: &[&str] = &["--profile", "--region", "--output", "--endpoint-url", "--query", "--color"];
    match args.subcommand(VALUES) {
        Some(("s3", rest)) if !rest.texts().any(|text| text == "-") => match rest.subcommand(VALUES) {
            Some(("ls" | "cp" | "mv" | "rm" | "sync" | "mb" | "rb", _)) => Kind::Command,
            _ => Kind::Unknown,
        },
        Some(("s3", _)) => VIEW,
        Some(("logs", rest)) if rest.texts().any(|text| text == "tail") => Kind::Logs,
        _ => Kind::Data,
    }
}

/// Clouds with a table as the usual form of a list.
fn cloud(args: Args<'_, '_>) -> Kind {
    let lists = args.texts().any(|text| matches!(text, "list" | "ls"));
    let data = args.texts().any(|text| {
        text.starts_with("--format")
            || text.starts_with("--output")
            || matches!(text, "-o" | "logging" | "cat" | "read")
    });
    if lists && !data { Kind::Command } else { Kind::Data }
}

/// `curl`: the body is whatever the server sent.
fn curl(args: Args<'_, '_>) -> Kind {
    let to_file = args.has(&["-O", "--remote-name"])
        || args.flag('O')
        || args.value(&["--output"]).or(args.value(&["-o"])).is_some_and(|file| file != "-");
    let clustered = args.texts().any(|text| {
        text.len() > 2 && text.starts_with('-') && !text.starts_with("--") && text.ends_with('o')
    });
    let head = args.flag('I') || args.has(&["--head", "--version"]);
    if to_file || clustered || head { Kind::Command } else { Kind::Data }
}

fn wget(args: Args<'_, '_>) -> Kind {
    let shown = args.value(&["-O", "--output-document"]).is_some_and(|file| file == "-")
        || args.texts().any(|text| text.starts_with('-') && text.contains("O-") || text == "-qO");
    if shown { Kind::Data } else { Kind::Command }
}
