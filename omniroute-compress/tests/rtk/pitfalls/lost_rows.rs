//! Rows that were lost: matches, entries, tables, JSON, findings, records of logs.

use super::{at, capture, complete, lines, plan, rtk, with};

#[test]
fn pitfall_18_matches_are_what_was_asked_for() {
    // Counts, names and parts go through as they are.
    let counts = lines(60, |n| format!("src/module_{n}.rs:{n}"));
    let sent = rtk(&counts, "grep -rc pump src");
    for n in 0..60 {
        sent.keeps(&[&format!("module_{n}.rs:{n}")]);
    }
    let names = lines(60, |n| format!("src/deep/folder/module_{n}.rs"));
    let sent = rtk(&names, "grep -rl pump src");
    for n in 0..60 {
        sent.keeps(&[&format!("module_{n}.rs")]);
    }
    let parts = lines(60, |n| format!("PUMP_{n}"));
    assert_eq!(rtk(&parts, "grep -oh 'PUMP_[0-9]*' -r src").text, parts);
    // One file: the number is that of the line, colons belong to the text.
    let single = lines(60, |n| format!("{}:server_{n}: 10.0.0.{n}:80{n}: up", n * 3 + 1));
    let sent = rtk(&single, "grep -n server hosts.yml");
    for n in 0..60 {
        let line = format!("{}:server_{n}: 10.0.0.{n}:80{n}: up", n * 3 + 1);
        assert!(sent.text.lines().any(|l| l == line), "{line} is changed:\n{}", sent.text);
    }
    // Long lines are cut with a sign, around the match; what is in no text is named.
    let long =
        lines(20, |n| format!("dist/app.{n}.js:1:{}needle_{n}{}", "a(b);".repeat(200), "c(d);".repeat(200)))
            + "Binary file img/logo.png matches\ngrep: etc/shadow: Permission denied\n";
    let sent = rtk(&long, "grep -rn needle .");
    sent.keeps(&["img/logo.png matches", "etc/shadow: Permission denied"]);
    for n in 0..20 {
        sent.keeps(&[&format!("needle_{n}"), &format!("app.{n}.js")]);
    }
    assert!(sent.text.len() < long.len() / 2 && sent.text.contains(" chars]"), "{}", sent.text);
    let odd = lines(40, |n| format!("src/a.c:{n}:bad byte \u{fffd}\u{fffd} here {n}"));
    let sent = rtk(&odd, "grep -rn bad src");
    for n in 0..40 {
        assert!(sent.text.lines().any(|l| l.contains(&format!("{n}:")) && l.ends_with(&format!("here {n}"))));
    }
}

#[test]
fn pitfall_19_entries_are_data() {
    let names = [".env", ".github", "node_modules", "target", "a file with blanks.txt", "null", "Cargo.lock"];
    let many = lines(80, |n| format!("entry_{n}"));
    let listed = format!("{}\n{many}", names.join("\n"));
    let sent = rtk(&listed, "ls -1A");
    for name in names {
        sent.keeps(&[name]);
    }
    for n in 0..80 {
        sent.keeps(&[&format!("entry_{n}")]);
    }
    // Another language's dates, a device, a link, odd rights.
    let rows = lines(40, |n| format!("-rw-r--r--  1 ada ada    {n:>4} 5. Jan 10:{n:02} datei_{n}.txt"));
    let long = format!(
        "insgesamt 212\n{rows}crw-rw-rw-  1 root root 1, 3 5. Jan 10:00 null\nlrwxrwxrwx  1 ada ada      7 5. Jan 10:00 neu -> alt.txt\n-rwsr-xr-x  1 root root  9000 5. Jan 10:00 .helper\n"
    );
    let sent = rtk(&long, "ls -la");
    sent.keeps(&["null", "neu", "alt.txt", ".helper"]).has_none(&["empty"]);
    for n in 0..40 {
        sent.keeps(&[&format!("datei_{n}.txt")]);
    }
    complete("shell/ls-R.txt");
    let tree = format!(
        ".:\nsrc\ndocs\n\nsrc:\n{}\nsrc/net:\n{}\ndocs:\n{}",
        lines(30, |n| format!("a{n}.rs")),
        lines(30, |n| format!("b{n}.rs")),
        lines(30, |n| format!("c{n}.md"))
    );
    let sent = rtk(&tree, "ls -R");
    for (head, last) in [("src:", "a29.rs"), ("src/net:", "b29.rs"), ("docs:", "c29.md")] {
        let behind = sent.text.split_once(&format!("\n{head}")).map_or("", |(_, rest)| rest);
        assert!(behind.contains(last), "{head} {last}:\n{}", sent.text);
    }
    let none = "ls: cannot access '/nope': No such file or directory\n";
    assert_eq!(rtk(none, "ls /nope").text, none);
}

#[test]
fn pitfall_20_healthy_rows_are_rows() {
    let pods = "NAME                      READY   STATUS             RESTARTS       AGE\n".to_owned()
        + &lines(50, |n| match n {
            17 => "web-17                    0/1     CrashLoopBackOff   12 (3m ago)    4d".to_owned(),
            _ => format!("web-{n:<21} 1/1     Running            0              {n}d"),
        });
    let sent = rtk(&pods, "kubectl get pods");
    for n in 0..50 {
        assert!(sent.text.lines().any(|l| l.starts_with(&format!("web-{n} "))), "web-{n}:\n{}", sent.text);
    }
    sent.keeps(&["CrashLoopBackOff", "12 (3m ago)"]);
    let df = "Filesystem           Size  Used Avail Use% Mounted on\n/dev/sda1             50G   40G   10G  80% /\ntmpfs                1.0G     0  1.0G   0% /dev/shm\n".to_owned()
        + &lines(12, |n| format!("nas{n}.example.com:/vol{n}   2.0T  1.9T  100G  95% /mnt/vol{n}"));
    let sent = rtk(&df, "df -h");
    for n in 0..12 {
        sent.keeps(&[&format!("nas{n}.example.com:/vol{n}"), &format!("/mnt/vol{n}")]);
    }
    // Rows without a heading: the first one is a row as well.
    let bare = lines(40, |n| format!("default   web-with-a-long-name-{n:02}-{}   Pending", n * 7_919));
    let sent = rtk(&bare, "kubectl get pods --no-headers");
    sent.has_none(&["Pending=Pending", "default=default"]).keeps(&["Pending"]);
    for n in 0..40 {
        sent.keeps(&[&format!("web-with-a-long-name-{n:02}-{}", n * 7_919)]);
    }
    for file in [
        "infra/kubectl-describe-pod.txt",
        "docker/docker-ps-a.txt",
        "shell/df-h.txt",
        "docker/docker-ps-restarting.txt",
    ] {
        complete(file);
    }
}

#[test]
fn pitfall_21_json_keeps_its_value() {
    let rows: Vec<serde_json::Value> = (0..120)
        .map(|n| serde_json::json!({"InstanceId": format!("i-{n:08x}"), "State": {"Name": "running", "Code": 16}, "Big": 12_345_678_901_234_567_890_u64, "Price": 0.10, "Tags": [{"Key": "n", "Value": format!("{n}\u{e9}")}]}))
        .collect();
    let text = serde_json::to_string_pretty(&serde_json::json!({"Reservations": rows})).unwrap();
    for command in [
        "aws ec2 describe-instances --output json",
        "kubectl get pods -o json",
        "curl -s https://api.example.com/x",
        "gh api repos/a/b",
        "docker inspect web",
    ] {
        for level in ["minimal", "standard", "aggressive"] {
            let sent = at(level, &text, Some(command), None);
            let value: serde_json::Value =
                serde_json::from_str(&sent.text).unwrap_or_else(|e| panic!("{command}: {e}"));
            assert_eq!(
                value,
                serde_json::from_str::<serde_json::Value>(&text).unwrap(),
                "{command} at {level}"
            );
        }
    }
    // Cut by somebody before us: no end is made up.
    let cut = text.get(..text.len() / 2).unwrap();
    let sent = rtk(cut, "aws ec2 describe-instances --output json");
    sent.keeps(&["i-00000000", "i-0000000a"]);
    assert!(!sent.text.trim_end().ends_with("]}"));
}

#[test]
fn pitfall_22_every_finding_has_its_place() {
    let clippy = lines(30, |n| {
        format!(
            "error: this loop never actually loops\n  --> src/part_{n}.rs:{}:5\n   |\n{} | /     loop {{\n{} | |         break;\n   | |_____^\n   |\n   = note: `#[deny(clippy::never_loop)]` on by default\n",
            n + 3,
            n + 3,
            n + 4
        )
    }) + "error: could not compile `pump` (lib) due to 30 previous errors\n";
    let sent = rtk(&clippy, "cargo clippy");
    for n in 0..30 {
        let name = format!("part_{n}.rs");
        assert!(sent.text.contains(&name), "{name}:\n{}", sent.text);
    }
    sent.keeps(&["this loop never actually loops", "30 previous errors"]);
    let tsc = lines(40, |n| {
        format!(
            "src/view_{n}.ts({},{}): error TS2345: Argument of type 'Kind{n}' is not assignable to parameter of type 'string'.\n  Type 'Kind{n}' is missing the following properties from type 'String': a{n}, b{n}",
            n + 1,
            n + 2
        )
    }) + "Found 40 errors in 40 files.\n";
    let sent = rtk(&tsc, "npx tsc --noEmit");
    for n in 0..40 {
        sent.keeps(&[
            &format!("view_{n}.ts"),
            &format!("'Kind{n}' is not assignable"),
            &format!("a{n}, b{n}"),
        ]);
    }
    let go = "# example.com/pump/store\n".to_owned()
        + &lines(30, |n| format!("store/file{n}.go:{}:2: undefined: helper{n}", n + 1));
    let sent = rtk(&go, "go build ./...");
    for n in 0..30 {
        sent.keeps(&[&format!("file{n}.go"), &format!("undefined: helper{n}")]);
    }
    sent.has_none(&["uccess"]);
    let eslint = lines(12, |n| {
        format!(
            "/home/user/web/src/file{n}.js\n  {}:10  error    Parsing error: Unexpected token {n}\n  7:1  warning  Unexpected console statement  no-console\n",
            n + 1
        )
    }) + "\u{2716} 24 problems (12 errors, 12 warnings)\n";
    let sent = rtk(&eslint, "npx eslint .");
    for n in 0..12 {
        sent.keeps(&[&format!("file{n}.js"), &format!("Parsing error: Unexpected token {n}")]);
    }
    for file in [
        "build/cargo-clippy.txt",
        "build/tsc-errors.txt",
        "build/go-build-errors.txt",
        "build/eslint-parse-error.txt",
    ] {
        complete(file);
    }
}

/// The numbers in front of one kind of marker, added up.
fn counted(text: &str, kind: &str) -> usize {
    let heads = text.lines().filter_map(|l| l.strip_prefix("[rtk: "));
    heads
        .filter_map(|l| {
            l.split_once(' ')?.1.starts_with(kind).then(|| l.split(' ').next()?.parse::<usize>().ok())?
        })
        .sum()
}

#[test]
fn pitfall_23_numbers_in_a_log_are_values() {
    let log = lines(600, |n| match n {
        100 | 200 | 300 => {
            format!("2026-01-05T10:00:00Z WARN shop: order {} refused, port {}", 88_000 + n, 8_000 + n)
        }
        400 => "2026-01-05T10:00:00Z ERROR shop: amount 1999.90 of order 77123 is not 1999.00".to_owned(),
        _ => format!("2026-01-05T10:{:02}:{:02}Z INFO shop: polled queue, {} left", n / 60, n % 60, n % 13),
    });
    for level in ["standard", "aggressive"] {
        let sent = at(level, &log, Some("docker logs shop"), Some(0));
        sent.keeps(&["88100", "88200", "88300", "8100", "8200", "8300", "1999.90", "77123"]);
        // Each record is shown or counted, once; gaps say where those were that are counted.
        let shown = sent.text.lines().filter(|l| !l.starts_with("[rtk: ")).count();
        let (folded, gaps) = (counted(&sent.text, "x "), counted(&sent.text, "log records omitted"));
        assert_eq!(shown + folded, 600, "{folded} folded at {level}:\n{}", sent.text);
        assert!(gaps > 400 && gaps <= folded, "{gaps} in gaps at {level}:\n{}", sent.text);
    }
    let output = capture("generic/app-log-needle.txt");
    let sent = with(&plan("rtk"), &output.text, Some(&output.command), output.exit_code);
    assert_eq!(super::judge::judge(&output, &sent.text).missing_to(2), 0);
}
