//! Clusters, containers, machines: kubectl, docker, terraform, ansible, systemd.

use crate::rtk::detect::board::{Board, EVERY, FIRST, STRUCTURAL as S, rules};
use crate::rtk::detect::line::{Line, counted, digits, ends, has, is_hex, is_name, starts, word};

rules! {
    TF_USED = TerraformPlan 0 Header "providers used" S;
    TF_ACTIONS = TerraformPlan 1 Header "actions" S;
    TF_RESOURCE = TerraformPlan 2 Line "resource" S;
    TF_PLAN = TerraformPlan 3 Summary "plan line" S;
    TF_NONE = TerraformPlan 4 Summary "no changes" S;
    TF_REFRESH = TerraformPlan 5 Line "refresh" S;
    TF_BOX = TerraformPlan 6 Line "error box" S;
    TF_ERROR = TerraformPlan 8 Line "error" 0;
    TF_PLACE = TerraformPlan 9 Line "place of an error" 0;
    AN_ERROR = Ansible 4 Line "error" S;
    TF_BLOCK = TerraformPlan 7 Line "resource block" S;
    TFA_DONE = TerraformApply 0 Summary "apply complete" S;
    TFA_STEP = TerraformApply 1 Line "resource step" S;
    TFA_DESTROYED = TerraformApply 2 Summary "destroy complete" S;
    TFI_HEAD = TerraformInit 0 Header "initializing" S;
    TFI_DONE = TerraformInit 1 Summary "initialized" S;
    TFI_STEP = TerraformInit 2 Line "provider" S;
    TOFU = TofuPlan 0 Header "providers used" S;
    TOFU_ACTIONS = TofuPlan 1 Header "actions" S;
    K_HEADER = Kubectl 0 Header "table header" S | FIRST;
    K_NAME = Kubectl 1 Header "name field" 0;
    K_FIELD = Kubectl 2 Line "field of a description" S;
    K_VERB = Kubectl 3 Line "object and verb" S | EVERY;
    K_ERROR = Kubectl 4 Line "server error" S | EVERY;
    K_EVENTS = Kubectl 5 Line "events" S;
    K_NONE = Kubectl 6 Summary "nothing found" S;
    K_CLIENT = Kubectl 7 Line "client error" S;
    K_ROW = Kubectl 8 Line "row of pods" S;
    K_AGE = Kubectl 9 Line "row with an age" 0;
    DP_HEADER = DockerPs 0 Header "table header" S | FIRST;
    DP_ROW = DockerPs 1 Line "container" S;
    DP_COMPOSE = DockerPs 2 Header "compose table header" S | FIRST;
    DP_DAEMON = DockerPs 3 Line "no daemon" S;
    DI_HEADER = DockerImages 0 Header "table header" S | FIRST;
    DI_ROW = DockerImages 1 Line "image" S;
    DB_STEP = DockerBuild 0 Line "buildkit step" S;
    DB_DONE = DockerBuild 1 Line "buildkit result" S;
    DB_HEAD = DockerBuild 2 Header "building" S;
    DB_OLD = DockerBuild 3 Line "step" S;
    DB_LAYER = DockerBuild 4 Line "layer" S;
    DB_BUILT = DockerBuild 5 Summary "built image" S;
    DB_SEND = DockerBuild 6 Header "context" S;
    DB_EXIT = DockerBuild 7 Summary "failed command" S;
    AN_PLAY = Ansible 0 Header "play" S;
    AN_TASK = Ansible 1 Header "task" S;
    AN_RECAP = Ansible 2 Summary "recap" S;
    AN_HOST = Ansible 3 Line "host" S;
    SY_UNIT = Systemctl 0 Header "unit" S | FIRST;
    SY_LOADED = Systemctl 1 Line "loaded" S;
    SY_ACTIVE = Systemctl 2 Line "active" S;
}

/// Fields that only a description of a cluster object has in the first column.
const FIELDS: &[&[u8]] = &[
    b"Namespace:",
    b"Service Account:",
    b"Controlled By:",
    b"Init Containers:",
    b"Containers:",
    b"Conditions:",
    b"QoS Class:",
    b"Node-Selectors:",
    b"Tolerations:",
    b"Pod Template:",
    b"StrategyType:",
    b"Replicas:",
    b"RollingUpdateStrategy:",
    b"StorageClass:",
    b"Access Modes:",
    b"Session Affinity:",
    b"Start Time:",
];
/// Columns that make a header of capitals one of the cluster.
const COLUMNS: &[&[u8]] = &[
    b"AGE",
    b"READY",
    b"STATUS",
    b"RESTARTS",
    b"NAMESPACE",
    b"CLUSTER-IP",
    b"CPU(cores)",
    b"UP-TO-DATE",
    b"CAPACITY",
    b"DESIRED",
    b"DATA",
    b"REFERENCE",
    b"COMPLETIONS",
    b"SHORTNAMES",
    b"APIVERSION",
    b"CPU%",
    b"MEMORY%",
    b"PHASE",
    b"CLASS",
];
const VERBS: &[&[u8]] = &[
    b"created",
    b"configured",
    b"unchanged",
    b"deleted",
    b"patched",
    b"scaled",
    b"labeled",
    b"annotated",
    b"exposed",
    b"restarted",
    b"cordoned",
    b"uncordoned",
    b"drained",
    b"evicted",
    b"serverside-applied",
    b"(dry run)",
    b"(server dry run)",
];

pub(super) fn scan(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let raw = line.raw;
    let Some(&first) = line.body.first() else { return };
    match first {
        b'T' if raw.starts_with(b"Terraform used the selected providers") => board.hit(&TF_USED, at),
        b'T' if raw.starts_with(b"Terraform will perform the following actions") => {
            board.hit(&TF_ACTIONS, at)
        }
        b'T' if raw.starts_with(b"Terraform has been successfully initialized") => board.hit(&TFI_DONE, at),
        b'T' if raw.starts_with(b"TASK [") && raw.ends_with(b"*") => board.hit(&AN_TASK, at),
        b'T' if raw.starts_with(b"The command '/bin/sh -c ") => board.hit(&DB_EXIT, at),
        b'O' if raw.starts_with(b"OpenTofu used the selected providers") => board.hit(&TOFU, at),
        b'O' if raw.starts_with(b"OpenTofu will perform the following actions") => {
            board.hit(&TOFU_ACTIONS, at)
        }
        b'#' if line.indent == 2 => resource(line, board),
        b'#' if line.indent == 0 => buildkit(line, board),
        b'P' if raw.starts_with(b"Plan: ") && has(raw, b" to add, ") && has(raw, b" to destroy") => {
            board.hit(&TF_PLAN, at)
        }
        b'P' if raw.starts_with(b"PLAY [") && raw.ends_with(b"*") => board.hit(&AN_PLAY, at),
        b'P' if raw.starts_with(b"PLAY RECAP ***") => board.hit(&AN_RECAP, at),
        b'N' if raw.starts_with(b"No changes. Your infrastructure matches") => board.hit(&TF_NONE, at),
        b'N' if raw.starts_with(b"No resources found") => board.hit(&K_NONE, at),
        b'N' if raw.starts_with(b"Name:  ") => board.hit(&K_NAME, at),
        b'A' if raw.starts_with(b"Apply complete! Resources: ") => board.hit(&TFA_DONE, at),
        b'D' if raw.starts_with(b"Destroy complete! Resources: ") => board.hit(&TFA_DESTROYED, at),
        b'I' if starts(
            raw,
            &[
                b"Initializing the backend...",
                b"Initializing provider plugins...",
                b"Initializing modules...",
            ],
        ) =>
        {
            board.hit(&TFI_HEAD, at)
        }
        b'-' if starts(
            raw,
            &[
                b"- Finding ",
                b"- Installing ",
                b"- Installed ",
                b"- Reusing previous version of ",
                b"- Using previously-installed ",
            ],
        ) && raw.contains(&b'/') =>
        {
            board.hit(&TFI_STEP, at);
        }
        b'-' if raw.starts_with(b"---> ") => {}
        b'+' | b'~' | b'-'
            if line.indent >= 2
                && (has(line.body, b" resource \"") || has(line.body, b" data \""))
                && line.body.ends_with(b"{") =>
        {
            board.hit(&TF_BLOCK, at)
        }
        b'E' if raw.starts_with(b"Error from server") => board.hit(&K_ERROR, at),
        b'E' if raw.starts_with(b"Error: ") => board.hit(&TF_ERROR, at),
        b'o' if line.body.starts_with(b"on ") && has(line.body, b".tf line ") => board.hit(&TF_PLACE, at),
        b'E' if raw.starts_with(b"ERROR! ") => board.hit(&AN_ERROR, at),
        b'[' if raw.starts_with(b"[ERROR]: ") => board.hit(&AN_ERROR, at),
        b'E' if raw.starts_with(b"Events:") => board.hit(&K_EVENTS, at),
        b'E' if raw.starts_with(b"ERROR: Cannot connect to the Docker daemon") => board.hit(&DP_DAEMON, at),
        b'C' if raw.starts_with(b"Cannot connect to the Docker daemon") => board.hit(&DP_DAEMON, at),
        b'U' if raw.starts_with(b"Unable to connect to the server") => board.hit(&K_CLIENT, at),
        b'S' if counted(raw, b"Step ", b"/").is_some_and(|rest| has(rest, b" : ")) => board.hit(&DB_OLD, at),
        b'S' if raw.starts_with(b"Sending build context to Docker daemon") => board.hit(&DB_SEND, at),
        b'S' if starts(raw, &[b"Successfully built ", b"Successfully tagged "]) => board.hit(&DB_BUILT, at),
        b'[' if raw.starts_with(b"[+] Building ") => board.hit(&DB_HEAD, at),
        b'[' if raw.starts_with(b"[+] Running ") => board.hit(&DB_HEAD, at),
        b'o' | b'c' | b'f' | b's' if line.raw.contains(&b'[') && ansible_host(line) => {
            board.hit(&AN_HOST, at)
        }
        b'L' if line.indent > 3 && line.body.starts_with(b"Loaded: ") => board.hit(&SY_LOADED, at),
        b'A' if line.indent > 3 && line.body.starts_with(b"Active: ") => board.hit(&SY_ACTIVE, at),
        b'0'..=b'9' | b'a'..=b'f' if line.indent == 0 => container(line, board),
        0xe2 => boxed(line, board),
        _ => {}
    }
    if line.indent == 1 && line.body.starts_with(b"---> ") {
        let (head, _) = word(line.body.get(5..).unwrap_or_default());
        if is_hex(head, 12) || starts(line.body, &[b"---> Running in ", b"---> Using cache"]) {
            board.hit(&DB_LAYER, at);
        }
    }
    if line.indent == 0 && first.is_ascii_uppercase() {
        header(line, board);
    }
    if line.indent == 0 {
        objects(line, board);
    }
}

/// `  # aws_x.y will be created`.
fn resource(line: &Line<'_>, board: &mut Board) {
    let text = line.body.get(2..).unwrap_or_default();
    let (_, rest) = word(text);
    if starts(
        rest,
        &[
            b"will be ",
            b"must be replaced",
            b"has changed",
            b"has been deleted",
            b"is tainted",
            b"has moved to",
        ],
    ) {
        board.hit(&TF_RESOURCE, line.number);
    }
}

/// `#5 [2/4] RUN x`, `#5 DONE 1.2s`, `#6 CACHED`.
fn buildkit(line: &Line<'_>, board: &mut Board) {
    let Some(rest) = counted(line.raw, b"#", b" ") else { return };
    if starts(rest, &[b"DONE ", b"CACHED", b"ERROR: ", b"CANCELED"]) {
        board.hit(&DB_DONE, line.number);
    } else if rest.starts_with(b"[")
        || digits(rest).is_some()
        || starts(rest, &[b"exporting ", b"transferring ", b"sha256:"])
    {
        board.hit(&DB_STEP, line.number);
    }
}

fn ansible_host(line: &Line<'_>) -> bool {
    line.indent == 0
        && starts(line.raw, &[b"ok: [", b"changed: [", b"fatal: [", b"failed: [", b"skipping: ["])
        && line.raw.contains(&b']')
}

/// A row of `docker ps` or `docker images`, or a service and its state.
fn container(line: &Line<'_>, board: &mut Board) {
    let (id, rest) = word(line.raw);
    if id.len() == 12 && is_hex(id, 12) && has(rest, b"\"") {
        board.hit(&DP_ROW, line.number);
    }
}

/// The box of terraform's diagnostics and the bullet of systemd.
fn boxed(line: &Line<'_>, board: &mut Board) {
    let Some((mark, rest)) = line.body.split_at_checked(3) else { return };
    match mark {
        b"\xe2\x95\xb7" if rest.is_empty() => board.hit(&TF_BOX, line.number),
        b"\xe2\x94\x82" if starts(rest, &[b" Error: ", b" Warning: "]) => board.hit(&TF_BOX, line.number),
        b"\xe2\x97\x8f" | b"\xe2\x97\x8b" | b"\xc3\x97" if line.indent == 0 => {
            let (unit, _) = word(rest.trim_ascii_start());
            if [b".service".as_slice(), b".socket", b".timer", b".target", b".mount"]
                .iter()
                .any(|end| unit.ends_with(end))
            {
                board.hit(&SY_UNIT, line.number);
            }
        }
        _ => {}
    }
}

/// Headers of tables, all in capitals.
fn header(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    if starts(line.raw, FIELDS) {
        board.hit(&K_FIELD, at);
        return;
    }
    // The first word of every header is in capitals.
    if !matches!(line.raw.get(1), Some(b'A'..=b'Z')) {
        return;
    }
    if line.raw.starts_with(b"CONTAINER ID ") {
        board.hit(&DP_HEADER, at);
    } else if line.raw.starts_with(b"REPOSITORY ") && has(line.raw, b"IMAGE ID") {
        board.hit(&DI_HEADER, at);
    } else if line.raw.starts_with(b"NAME ") && has(line.raw, b" IMAGE ") && has(line.raw, b" COMMAND ") {
        board.hit(&DP_COMPOSE, at);
    } else if starts(line.raw, &[b"NAME ", b"NAMESPACE ", b"LAST SEEN ", b"POD ", b"CURRENT "])
        && line.raw.split(|byte| *byte == b' ').filter(|word| COLUMNS.contains(word)).count() >= 1
    {
        board.hit(&K_HEADER, at);
    }
}

/// `deployment.apps/web configured`, terraform's `aws_x.y: Creating...`, rows of pods.
fn objects(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    if !line.raw.first().is_some_and(|byte| byte.is_ascii_alphanumeric()) {
        return;
    }
    let (head, rest) = word(line.raw);
    if rest.is_empty() {
        return;
    }
    if ends(rest, VERBS)
        && head.contains(&b'/')
        && let Some((kind, name)) = crate::rtk::detect::line::split(head, b"/")
        && is_name(kind)
        && (is_name(name) || name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._:".contains(byte)))
        && rest.len() < 40
    {
        board.hit(&K_VERB, at);
    } else if head.ends_with(b":") && head.contains(&b'.') {
        if starts(rest, &[b"Refreshing state...", b"Reading...", b"Read complete after "]) {
            board.hit(&TF_REFRESH, at);
        } else if starts(
            rest,
            &[
                b"Creating...",
                b"Creation complete after ",
                b"Destroying...",
                b"Destruction complete after ",
                b"Still creating...",
                b"Still destroying...",
                b"Modifying...",
                b"Modifications complete after ",
                b"Still modifying...",
            ],
        ) {
            board.hit(&TFA_STEP, at);
        }
    } else if is_name(head) && pod_row(rest) {
        board.hit(&K_ROW, at);
    } else if matches!(line.raw.last(), Some(b's' | b'm' | b'h' | b'd' | b'y'))
        && is_name(head)
        && aged(line.raw)
    {
        board.hit(&K_AGE, at);
    }
    if line.raw.ends_with(b"B") && line.raw.len() > 30 {
        let (_, rest) = word(rest);
        if is_hex(word(rest).0, 12) && has(rest, b" ago") {
            board.hit(&DI_ROW, at);
        }
    }
}

/// The last of at least three columns is `5d`, `3h12m`, `17s`.
fn aged(raw: &[u8]) -> bool {
    let age = raw.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    let plain = age.first().is_some_and(u8::is_ascii_digit)
        && age.len() < 8
        && age.iter().all(|byte| byte.is_ascii_digit() || b"smhdy".contains(byte));
    plain && has(raw, b"  ")
}

/// `1/1  Running  0  5d`.
fn pod_row(rest: &[u8]) -> bool {
    let (ready, rest) = word(rest);
    let counts =
        digits(ready).and_then(|rest| rest.strip_prefix(b"/")).and_then(digits).is_some_and(<[u8]>::is_empty);
    let (state, rest) = word(rest);
    counts && state.first().is_some_and(u8::is_ascii_alphabetic) && digits(rest).is_some()
}
