//! Package managers: npm and its relatives, pip, uv, poetry, apt, dpkg.

use crate::rtk::detect::board::{Board, EVERY, FIRST, STRUCTURAL as S, rules};
use crate::rtk::detect::line::{Line, counted, digits, has, starts, word};

rules! {
    NPM_SUM = NpmInstall 0 Summary "changes" S;
    NPM_WARN = NpmInstall 1 Line "warning" S;
    NPM_ERROR = NpmInstall 2 Line "error" S;
    NPM_AUDITED = NpmInstall 3 Summary "vulnerabilities" S;
    NPM_HTTP = NpmInstall 4 Line "request" S;
    NPM_FUND = NpmInstall 5 Line "funding" 0;
    PNPM_HEAD = NpmInstall 6 Header "packages" S;
    PNPM_STEP = NpmInstall 7 Line "progress" S;
    PNPM_LOCK = NpmInstall 8 Line "lock file" S;
    PNPM_ERROR = NpmInstall 9 Line "pnpm error" S;
    PNPM_GROUP = NpmInstall 10 Line "dependencies" 0;
    YARN_HEAD = NpmInstall 11 Header "yarn version" S | FIRST;
    YARN_STEP = NpmInstall 12 Line "yarn step" S;
    YARN_DONE = NpmInstall 13 Summary "done line" 0;
    AUDIT_HEAD = NpmAudit 0 Header "report" S;
    AUDIT_SEVERITY = NpmAudit 1 Line "severity" S;
    AUDIT_SUM = NpmAudit 2 Summary "counts" S;
    AUDIT_FIX = NpmAudit 3 Line "fix" S;
    PIP_COLLECT = Pip 0 Line "collecting" S;
    PIP_DOWN = Pip 1 Line "download" S;
    PIP_HAVE = Pip 2 Line "satisfied" S;
    PIP_DONE = Pip 3 Summary "installed" S;
    PIP_INSTALL = Pip 4 Line "installing" S;
    PIP_ERROR = Pip 5 Line "no distribution" S;
    PIP_NOTICE = Pip 6 Line "notice" 0;
    UV_RESOLVED = Uv 0 Header "resolved" S;
    UV_CHANGED = Uv 1 Summary "changes" S;
    UV_ROW = Uv 2 Line "package" S | EVERY;
    UV_NONE = Uv 3 Header "no solution" S;
    UV_AUDITED = Uv 4 Summary "audited" S;
    UV_CAUSE = Uv 5 Line "cause" 0;
    PIP_BUILD = Pip 7 Header "failed build" S;
    PIP_WHEEL = Pip 8 Line "building" S;
    PO_SUM = Poetry 0 Header "operations" S;
    PO_ROW = Poetry 1 Line "operation" S;
    APT_HEAD = Apt 0 Header "reading lists" S | FIRST;
    APT_TREE = Apt 1 Line "dependency tree" S;
    APT_NEW = Apt 2 Header "packages to change" S;
    APT_SUM = Apt 3 Summary "counts" S;
    APT_SET = Apt 4 Line "setting up" S;
    APT_GET = Apt 5 Line "download" S;
    APT_ERROR = Apt 6 Line "error" S;
    APT_UNPACK = Apt 7 Line "unpacking" S;
    DPKG_HEAD = Dpkg 0 Header "legend" S;
    DPKG_ROW = Dpkg 1 Line "package" S | EVERY;
    DPKG_COLUMNS = Dpkg 2 Header "columns" S;
}

pub(super) fn scan(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let raw = line.raw;
    let Some(&first) = line.body.first() else { return };
    match first {
        b'n' if line.indent == 0 && raw.starts_with(b"npm ") => npm(line, board),
        b'a' | b'u' | b'r' | b'c' if line.indent == 0 => changes(line, board),
        b'f' if counted(raw, b"found ", b" vulnerabilit").is_some() => board.hit(&NPM_AUDITED, at),
        b'f' if raw.starts_with(b"fix available via `npm audit fix") => board.hit(&AUDIT_FIX, at),
        b'P' if starts(raw, &[b"Packages: +", b"Packages: -"]) => board.hit(&PNPM_HEAD, at),
        b'P' if raw.starts_with(b"Progress: resolved ") => board.hit(&PNPM_STEP, at),
        b'P' if counted(raw, b"Package operations: ", b" install").is_some() => board.hit(&PO_SUM, at),
        b'P' if counted(raw, b"Prepared ", b" package").is_some() => board.hit(&UV_CHANGED, at),
        b'L' if starts(raw, &[b"Lockfile is up to date", b"Lockfile passes "]) => board.hit(&PNPM_LOCK, at),
        b'E' if starts(
            raw,
            &[
                b"ERROR: Could not find a version that satisfies",
                b"ERROR: No matching distribution found for",
                b"ERROR: Cannot install ",
                b"ERROR: ResolutionImpossible",
            ],
        ) =>
        {
            board.hit(&PIP_ERROR, at)
        }
        b'E' if starts(
            raw,
            &[b"E: Unable to locate package ", b"E: Package ", b"E: Could not ", b"E: Couldn't "],
        ) =>
        {
            board.hit(&APT_ERROR, at)
        }
        b'd' if matches!(raw, b"dependencies:" | b"devDependencies:") => board.hit(&PNPM_GROUP, at),
        b'y' if starts(raw, &[b"yarn install v", b"yarn add v", b"yarn remove v"]) => {
            board.hit(&YARN_HEAD, at)
        }
        b'[' if line.indent == 0 => bracketed(line, board),
        b'D' => downloads(line, board),
        b'#' if raw == b"# npm audit report" => board.hit(&AUDIT_HEAD, at),
        b'S' => installed(line, board),
        b'0'..=b'9' if line.indent == 0 => numbered(line, board),
        b'C' if starts(line.body, &[b"Collecting "]) && line.indent <= 2 => board.hit(&PIP_COLLECT, at),
        b'O' if starts(raw, &[b"Obtaining file://"]) => board.hit(&PIP_COLLECT, at),
        b'R' if line.body.starts_with(b"Requirement already satisfied: ") => board.hit(&PIP_HAVE, at),
        b'R' if counted(raw, b"Resolved ", b" package").is_some() => board.hit(&UV_RESOLVED, at),
        b'R' if starts(raw, &[b"Reading package lists..."]) => board.hit(&APT_HEAD, at),
        b'I' if starts(raw, &[b"Installing collected packages: "]) => board.hit(&PIP_INSTALL, at),
        b'I' if counted(raw, b"Installed ", b" package").is_some() => board.hit(&UV_CHANGED, at),
        b'U' if counted(raw, b"Uninstalled ", b" package").is_some() => board.hit(&UV_CHANGED, at),
        b'U' if raw.starts_with(b"Unpacking ") && raw.ends_with(b" ...") => board.hit(&APT_UNPACK, at),
        b'A' if counted(raw, b"Audited ", b" package").is_some() => board.hit(&UV_AUDITED, at),
        b'B' if starts(raw, &[b"Building wheels for collected packages: "]) => board.hit(&PIP_WHEEL, at),
        b'P' if starts(raw, &[b"Processing /", b"Processing ./"]) => board.hit(&PIP_WHEEL, at),
        b'B' if raw.starts_with(b"Building dependency tree") => board.hit(&APT_TREE, at),
        b'T' if raw.starts_with(b"The following ")
            && has(raw, b"packages will be ")
            && raw.ends_with(b":") =>
        {
            board.hit(&APT_NEW, at)
        }
        b'G' | b'H'
            if counted(raw, b"Get:", b" http").is_some() || counted(raw, b"Hit:", b" http").is_some() =>
        {
            board.hit(&APT_GET, at)
        }
        b'+' | b'-' | b'~'
            if line.indent == 1 && has(line.body, b"==") && line.body.get(1) == Some(&b' ') =>
        {
            board.hit(&UV_ROW, at)
        }
        b'-' if line.indent == 2
            && starts(line.body, &[b"- Installing ", b"- Updating ", b"- Removing "])
            && line.body.ends_with(b")")
            && !line.body.contains(&b'/') =>
        {
            board.hit(&PO_ROW, at);
        }
        b'e' if raw == b"error: No solution found when resolving dependencies"
            || raw.starts_with(b"error: Failed to ") =>
        {
            board.hit(&UV_NONE, at)
        }
        b'c' if line.indent == 2 && line.body.starts_with(b"cause: ") => board.hit(&UV_CAUSE, at),
        b'e' if line.indent == 2 && line.body.starts_with(b"error: subprocess-exited-with-error") => {
            board.hit(&PIP_BUILD, at)
        }
        b'n' if line.body.starts_with(b"note: This error originates from a subprocess") => {
            board.hit(&PIP_BUILD, at)
        }
        0xc3 if line.indent == 2
            && line.body.starts_with("× No solution found when resolving".as_bytes()) =>
        {
            board.hit(&UV_NONE, at)
        }
        b'i' if raw.starts_with(b"ii  ") => board.hit(&DPKG_ROW, at),
        b'|' if raw.starts_with(b"||/ Name") => board.hit(&DPKG_COLUMNS, at),
        _ => {}
    }
    if first == b'E' || first == 0xe2 {
        // Between thin spaces.
        let body = line.body.strip_prefix("\u{2009}".as_bytes()).unwrap_or(line.body);
        if body.starts_with(b"ERR_PNPM_") {
            board.hit(&PNPM_ERROR, at);
        }
    }
}

fn npm(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some(rest) = line.raw.strip_prefix(b"npm ") else { return };
    if starts(rest, &[b"warn ", b"WARN "]) {
        board.hit(&NPM_WARN, at);
    } else if starts(rest, &[b"error ", b"ERR! "]) {
        board.hit(&NPM_ERROR, at);
    } else if starts(rest, &[b"http fetch ", b"http cache "]) {
        board.hit(&NPM_HTTP, at);
    }
}

/// `added 3 packages, and audited 4 packages in 2s`, `up to date in 1s`, `removed 2 packages`.
fn changes(line: &Line<'_>, board: &mut Board) {
    let raw = line.raw;
    let counts = [b"added ".as_slice(), b"removed ", b"changed ", b"audited "];
    if counts.iter().any(|head| counted(raw, head, b" package").is_some())
        || starts(raw, &[b"up to date in ", b"up to date, audited "])
    {
        board.hit(&NPM_SUM, line.number);
    }
}

fn bracketed(line: &Line<'_>, board: &mut Board) {
    let step =
        counted(line.raw, b"[", b"/").and_then(|rest| digits(rest)).and_then(|rest| rest.strip_prefix(b"] "));
    if step.is_some_and(|rest| {
        starts(
            rest,
            &[
                b"Resolving packages...",
                b"Fetching packages...",
                b"Linking dependencies...",
                b"Building fresh packages...",
            ],
        )
    }) {
        board.hit(&YARN_STEP, line.number);
    } else if line.raw.starts_with(b"[notice] ") {
        board.hit(&PIP_NOTICE, line.number);
    }
}

fn downloads(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    if line.indent > 0 {
        if line.body.starts_with(b"Downloading ")
            && (has(line.body, b".whl") || has(line.body, b".tar.gz") || has(line.body, b".metadata"))
        {
            board.hit(&PIP_DOWN, at);
        }
    } else if line.raw.starts_with(b"Desired=Unknown/") {
        board.hit(&DPKG_HEAD, at);
    } else if line.raw.starts_with(b"Done in ") {
        board.hit(&YARN_DONE, at);
    }
}

fn installed(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let (_, rest) = word(line.raw);
    if line.raw.starts_with(b"Successfully installed ") && rest.contains(&b'-') {
        board.hit(&PIP_DONE, at);
    } else if line.raw.starts_with(b"Setting up ") && line.raw.ends_with(b" ...") {
        board.hit(&APT_SET, at);
    } else if starts(
        line.raw,
        &[b"Severity: low", b"Severity: moderate", b"Severity: high", b"Severity: critical"],
    ) {
        board.hit(&AUDIT_SEVERITY, at);
    }
}

fn numbered(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some(rest) = digits(line.raw) else { return };
    if starts(rest, &[b" upgraded, "]) && has(rest, b" newly installed, ") {
        board.hit(&APT_SUM, at);
    } else if starts(
        rest,
        &[
            b" vulnerabilities (",
            b" vulnerability (",
            b" low severity vulnerabilit",
            b" moderate severity vulnerabilit",
            b" high severity vulnerabilit",
            b" critical severity vulnerabilit",
        ],
    ) {
        board.hit(&AUDIT_SUM, at);
        board.hit(&NPM_AUDITED, at);
    } else if starts(rest, &[b" packages are looking for funding", b" package is looking for funding"]) {
        board.hit(&NPM_FUND, at);
    }
}
