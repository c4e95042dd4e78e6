//! Everyday programs: listings, counts, searches, transfers, tables, progress.

use crate::rtk::detect::board::{Board, EVERY, FIRST, LAST, STRUCTURAL as S, WEAK, rules};
use crate::rtk::detect::line::{Line, counted, decimal, digits, has, is_path, place, starts, word};

rules! {
    LS_TOTAL = Ls 0 Header "total" S | EVERY;
    LS_ROW = Ls 1 Line "long row" S | EVERY;
    LS_NONE = Ls 3 Line "no such file" WEAK | EVERY;
    WC_ROW = Wc 0 Line "count and name" WEAK | EVERY;
    WC_TOTAL = Wc 1 Summary "total" WEAK | EVERY | LAST;
    TREE_ROW = Tree 0 Line "branch" EVERY;
    TREE_SUM = Tree 1 Summary "counts" S | LAST;
    GREP_ROW = Grep 0 Line "hit" EVERY;
    GREP_NEXT = Grep 1 Header "next hit of the same file" 0;
    GREP_BINARY = Grep 2 Line "binary file" S | EVERY;
    GREP_NUMBER = Grep 3 Line "numbered line" WEAK | EVERY;
    CURL_TRY = Curl 0 Line "connection" S;
    CURL_SENT = Curl 1 Line "request" S;
    CURL_GOT = Curl 2 Line "status line" S;
    CURL_ERROR = Curl 3 Summary "curl error" S;
    CURL_METER = Curl 4 Header "meter" S | FIRST;
    CURL_HEADER = Curl 5 Line "header" 0;
    CURL_BARE = Curl 6 Header "bare status line" S;
    WGET_HEAD = Wget 0 Header "start line" S | FIRST;
    WGET_SENT = Wget 1 Line "request" S;
    WGET_SAVE = Wget 2 Line "saving" S;
    WGET_DONE = Wget 3 Summary "saved" S | LAST;
    PSQL_RULER = Psql 0 Header "ruler" S;
    PSQL_ROWS = Psql 1 Summary "number of rows" S | LAST;
    PSQL_RECORD = Psql 2 Header "record" S;
    PSQL_ERROR = Psql 3 Line "error" S;
    PSQL_LINE = Psql 4 Line "place of an error" S;
    PSQL_BOX = Psql 5 Header "box" 0;
    PSQL_CELL = Psql 6 Line "row of a box" 0;
    PSQL_CLIENT = Psql 7 Line "client error" S;
    PSQL_PLAN = Psql 8 Line "plan" S;
    PSQL_TIME = Psql 9 Summary "times of a plan" S;
    RSYNC_HEAD = Rsync 0 Header "file list" S | FIRST;
    RSYNC_SENT = Rsync 1 Summary "bytes" S;
    RSYNC_TOTAL = Rsync 2 Summary "total" S | LAST;
    RSYNC_ERROR = Rsync 3 Line "error" S;
    RSYNC_STATS = Rsync 4 Line "statistics" S;
    DF_HEAD = Df 0 Header "table header" S | FIRST;
    DF_ROW = Df 1 Line "file system" S;
    PS_HEAD = Ps 0 Header "table header" S | FIRST;
    PS_ROW = Ps 1 Line "process" 0;
    PING_HEAD = Ping 0 Header "start line" S | FIRST;
    PING_ROW = Ping 1 Line "reply" S;
    PING_SUM = Ping 2 Summary "statistics" S;
    TQDM = Progress 0 Line "bar" S;
    TQDM_RATE = Progress 1 Summary "rate" S;
}

pub(super) fn scan(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let raw = line.raw;
    let Some(&first) = line.body.first() else { return };
    match first {
        b't' if line.indent == 0 && counted(raw, b"total ", b"").is_some_and(<[u8]>::is_empty) => {
            board.hit(&LS_TOTAL, at)
        }
        b't' if raw.starts_with(b"total size is ") && has(raw, b"speedup is ") => board.hit(&RSYNC_TOTAL, at),
        b'd' | b'-' | b'l' | b'b' | b'c' | b'p' | b's' if line.indent == 0 => dashed(line, board),
        b'*' if starts(
            raw,
            &[
                b"*   Trying ",
                b"* Connected to ",
                b"* connect to ",
                b"* Closing connection",
                b"* Connection #",
                b"* Host ",
                b"* TLS",
                b"* ALPN",
                b"* Failed to connect",
            ],
        ) =>
        {
            board.hit(&CURL_TRY, at)
        }
        b'>' if line.indent == 0 && request(raw) => board.hit(&CURL_SENT, at),
        b'<' if starts(raw, &[b"< HTTP/"]) => board.hit(&CURL_GOT, at),
        b'<' | b'>' if line.indent == 0 && raw.get(1) == Some(&b' ') && has(raw, b": ") => {
            board.hit(&CURL_HEADER, at)
        }
        b'H' if starts(raw, &[b"HTTP/1.", b"HTTP/2 ", b"HTTP/3 "])
            && raw.len() < 80
            && word(raw).1.first().is_some_and(u8::is_ascii_digit) =>
        {
            board.hit(&CURL_BARE, at)
        }
        b'H' if raw.starts_with(b"HTTP request sent, awaiting response... ") => board.hit(&WGET_SENT, at),
        b'%' if line.body.starts_with(b"% Total ") && has(line.body, b"% Received") => {
            board.hit(&CURL_METER, at)
        }
        b'S' if raw.starts_with(b"Saving to: ") => board.hit(&WGET_SAVE, at),
        b'(' if counted(raw, b"(", b" row").is_some_and(|rest| matches!(rest, b")" | b"s)")) => {
            board.hit(&PSQL_ROWS, at)
        }
        b'E' if starts(raw, &[b"ERROR:  ", b"ERROR 1", b"ERROR 2"]) => board.hit(&PSQL_ERROR, at),
        b'E' if raw.starts_with(b"Error: in prepare, ") => board.hit(&PSQL_ERROR, at),
        b'E' if starts(raw, &[b"Execution Time: "]) || starts(line.body, &[b"Execution Time: "]) => {
            board.hit(&PSQL_TIME, at)
        }
        b'P' if line.body.starts_with(b"Planning Time: ") => board.hit(&PSQL_TIME, at),
        b'L' if counted(raw, b"LINE ", b": ").is_some() => board.hit(&PSQL_LINE, at),
        b'r' if raw.starts_with(b"rsync: ") => board.hit(&RSYNC_ERROR, at),
        b'r' if raw.starts_with(b"rsync error: ") => board.hit(&RSYNC_TOTAL, at),
        b'N' if starts(
            raw,
            &[b"Number of files: ", b"Number of created files: ", b"Number of regular files transferred: "],
        ) =>
        {
            board.hit(&RSYNC_STATS, at)
        }
        b'F' if raw.starts_with(b"Filesystem ") && raw.ends_with(b"Mounted on") => board.hit(&DF_HEAD, at),
        b'U' if raw.starts_with(b"USER ") && has(raw, b"%CPU") => board.hit(&PS_HEAD, at),
        b'U' if raw.starts_with(b"UID ") && has(raw, b" PPID ") => board.hit(&PS_HEAD, at),
        b'P' if line.body.starts_with(b"PID ")
            && (line.body.ends_with(b"CMD") || line.body.ends_with(b"COMMAND")) =>
        {
            board.hit(&PS_HEAD, at)
        }
        b'P' if raw.starts_with(b"PING ") && has(raw, b" bytes") => board.hit(&PING_HEAD, at),
        b'B' if raw.starts_with(b"Binary file ") && raw.ends_with(b" matches") => board.hit(&GREP_BINARY, at),
        b'+' if raw.len() > 3
            && raw.ends_with(b"+")
            && raw.iter().all(|byte| matches!(byte, b'+' | b'-' | b'='))
            && has(raw, b"--") =>
        {
            board.hit(&PSQL_BOX, at)
        }
        b'|' if line.indent == 0 && raw.ends_with(b"|") && raw.len() > 3 => board.hit(&PSQL_CELL, at),
        b'0'..=b'9' => numbered(line, board),
        0xe2 => tree(line, board),
        _ => {}
    }
    if raw.ends_with(b")") && has(raw, b"(cost=") && has(raw, b" rows=") {
        board.hit(&PSQL_PLAN, at);
    }
    if raw.ends_with(b"]") && has(raw, b"%|") && has(raw, b"it") {
        progress(line, board);
    }
    if line.indent == 0 {
        grep(line, board);
        if raw.contains(&b'%') {
            df(line, board);
        }
    }
}

/// Rows of `ls -l`, rulers of psql, start lines of wget and rsync, closing lines of ping and curl.
fn dashed(line: &Line<'_>, board: &mut Board) {
    let (raw, at) = (line.raw, line.number);
    if matches!(raw.get(1), Some(b'r' | b'-')) && long_row(raw) {
        board.hit(&LS_ROW, at);
        return;
    }
    match raw.first() {
        Some(b'-') if starts(raw, &[b"-[ RECORD "]) => board.hit(&PSQL_RECORD, at),
        Some(b'-') if raw.starts_with(b"--") => {
            if has(raw, b"-+-") && raw.iter().all(|byte| matches!(byte, b'-' | b'+')) {
                board.hit(&PSQL_RULER, at);
            } else if raw.starts_with(b"--20") && has(raw, b"--  ") {
                board.hit(&WGET_HEAD, at);
            } else if raw.ends_with(b" ping statistics ---") {
                board.hit(&PING_SUM, at);
            }
        }
        Some(b's') if raw.starts_with(b"sending incremental file list") => board.hit(&RSYNC_HEAD, at),
        Some(b's') if raw.starts_with(b"sent ") && has(raw, b" bytes  received ") => {
            board.hit(&RSYNC_SENT, at)
        }
        Some(b'b') if raw.starts_with(b"building file list ...") => board.hit(&RSYNC_HEAD, at),
        Some(b'c')
            if counted(raw, b"curl: (", b") ").is_some()
                || starts(raw, &[b"curl: option ", b"curl: try "]) =>
        {
            board.hit(&CURL_ERROR, at)
        }
        Some(b'p') if raw.starts_with(b"psql: error: ") => board.hit(&PSQL_CLIENT, at),
        Some(b'l') if raw.starts_with(b"ls: ") => board.hit(&LS_NONE, at),
        _ => {}
    }
}

/// `drwxr-xr-x 2 user group 4096 Nov 30 10:00 name`.
fn long_row(raw: &[u8]) -> bool {
    let (mode, rest) = word(raw);
    let mode = mode
        .strip_suffix(b"+")
        .or_else(|| mode.strip_suffix(b"."))
        .or_else(|| mode.strip_suffix(b"@"))
        .unwrap_or(mode);
    mode.len() == 10
        && mode
            .iter()
            .skip(1)
            .all(|byte| matches!(byte, b'r' | b'w' | b'x' | b'-' | b's' | b't' | b'S' | b'T'))
        && digits(rest).is_some_and(|rest| rest.starts_with(b" "))
}

/// `> GET /path HTTP/1.1`.
fn request(raw: &[u8]) -> bool {
    starts(raw, &[b"> GET ", b"> POST ", b"> PUT ", b"> PATCH ", b"> DELETE ", b"> HEAD ", b"> OPTIONS "])
        && has(raw, b" HTTP/")
}

/// `├── name` and its deeper forms.
fn tree(line: &Line<'_>, board: &mut Board) {
    let mut rest = line.raw;
    for _ in 0..64 {
        if starts(rest, &["├── ".as_bytes(), "└── ".as_bytes(), "├─┬ ".as_bytes(), "└─┬ ".as_bytes()])
        {
            board.hit(&TREE_ROW, line.number);
            return;
        }
        let bar = rest.strip_prefix("│".as_bytes()).unwrap_or(rest);
        // Blanks of a tree may be no-break spaces.
        let blanks = bar.iter().take(8).take_while(|byte| matches!(byte, b' ' | 0xc2 | 0xa0)).count();
        if blanks == 0 {
            return;
        }
        rest = bar.get(blanks..).unwrap_or_default();
    }
}

/// Counts, replies, bars and results that start with a number.
fn numbered(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some(rest) = digits(line.body) else { return };
    if line.indent == 0 {
        if starts(rest, &[b" directories, ", b" directory, "]) && has(rest, b" file") {
            board.hit(&TREE_SUM, at);
        } else if starts(rest, &[b" bytes from "]) {
            board.hit(&PING_ROW, at);
        } else if starts(rest, &[b" packets transmitted, "]) {
            board.hit(&PING_SUM, at);
        } else if starts(rest, &[b" rows in set", b" row in set"]) {
            board.hit(&PSQL_ROWS, at);
        } else if rest.starts_with(b"-") && has(rest, b" saved [") {
            board.hit(&WGET_DONE, at);
        } else if matches!(rest.first(), Some(b':' | b'-')) {
            board.hit(&GREP_NUMBER, at);
        }
    }
    if let Some(name) = rest.strip_prefix(b" ") {
        if name == b"total" {
            board.hit(&WC_TOTAL, at);
        } else if !name.starts_with(b" ") && !name.contains(&b' ') && is_path(name) {
            board.hit(&WC_ROW, at);
        }
    }
    if line.body.len() > 40 && decimal(rest.trim_ascii_start()).is_some() && has(rest, b":") {
        board.hit(&PS_ROW, at);
    }
}

fn df(line: &Line<'_>, board: &mut Board) {
    let mut words = line.raw.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let percent = words.nth(4).is_some_and(|word| word.ends_with(b"%") && digits(word) == Some(b"%"));
    if percent && words.next().is_some_and(|word| word.starts_with(b"/")) {
        board.hit(&DF_ROW, line.number);
    }
}

/// `path:12:text`; errors and warnings of compilers are not hits.
fn grep(line: &Line<'_>, board: &mut Board) {
    let Some((path, rest)) = line.place else { return };
    let Some(text) = rest.strip_prefix(b":").or_else(|| rest.strip_prefix(b"-")) else { return };
    if digits(text).is_some_and(|rest| rest.starts_with(b":"))
        || starts(text, &[b" error", b" warning", b" note", b" fatal"])
    {
        return;
    }
    board.hit(&GREP_ROW, line.number);
    if line.before.starts_with(path) && place(line.before).is_some_and(|(before, _)| before == path) {
        board.hit(&GREP_NEXT, line.number);
    }
}

/// `12%|███   | 12/100 [00:01<00:09, 9.8it/s]`.
fn progress(line: &Line<'_>, board: &mut Board) {
    board.hit(&TQDM, line.number);
    if has(line.raw, b"<") && has(line.raw, b"it/s]") {
        board.hit(&TQDM_RATE, line.number);
    }
}
