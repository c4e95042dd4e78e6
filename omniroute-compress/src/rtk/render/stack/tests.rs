//! Traces of every language, alone and inside other text.

use proptest::prelude::*;

use super::fold_traces;
use crate::rtk::kit::{Draft, Level, Output, assemble};

fn shown(text: &str, level: Level) -> String {
    let out = Output::new(text, level);
    let mut draft = Draft::new(out.len());
    fold_traces(&out, &mut draft, 0..out.len());
    assemble(&out, &mut draft, &mut || None).text
}

/// A trace of `user` frames of the program around library frames.
fn trace(head: &str, user: &str, library: &str, counts: (usize, usize)) -> String {
    let mut text = format!("{head}\n");
    for n in 1..=counts.0 {
        text += &user.replace("@", &n.to_string());
        if n == 1 {
            for l in 1..=counts.1 {
                text += &library.replace("@", &l.to_string());
            }
        }
    }
    text
}

#[test]
fn every_language() {
    for (head, user, library) in [
        (
            "Error: x",
            "    at f@ (/srv/app/a.js:@:1)\n",
            "    at g (/srv/app/node_modules/express/lib/router.js:@:3)\n",
        ),
        (
            "a.B: x",
            "\tat com.acme.A.f@(A.java:@)\n",
            "\tat java.base/java.util.concurrent.FutureTask.run(FutureTask.java:@)\n",
        ),
        (
            "X: y",
            "   at Acme.A.F@(String s) in /srv/A.cs:line @\n",
            "   at System.Threading.Tasks.Task.Execute@(Object o)\n",
        ),
        (
            "panic: x\n\ngoroutine 1 [running]:",
            "main.f@(0x1)\n\t/srv/main.go:@ +0x1d\n",
            "net/http.(*conn).serve(0xc@)\n\t/usr/local/go/src/net/http/server.go:@ +0x1\n",
        ),
        (
            "stack backtrace:",
            "  @: app::f@\n             at ./src/main.rs:@:5\n",
            "  @: core::ops::function::FnOnce::call_once\n             at /rustc/abc/library/core/src/ops/function.rs:@:5\n",
        ),
        (
            "a.rb:1:in `f': x (E)",
            "\tfrom app/a.rb:@:in `f@'\n",
            "\tfrom /usr/lib/ruby/gems/3.1.0/gems/rack/lib/rack.rb:@:in `call'\n",
        ),
        (
            "Stack trace:",
            "#@ /srv/a.php(@): f@()\n",
            "#@ /srv/vendor/symfony/http-kernel/Kernel.php(@): handle()\n",
        ),
        (
            "==1==ERROR: AddressSanitizer: x",
            "    #@ 0x5580 in f@ src/main.c:@\n",
            "    #@ 0x7f52 in memcpy ../../../../src/libsanitizer/common/interceptors.inc:@\n",
        ),
        (
            "==7== Invalid read",
            "==7==    by 0x40@: f@ (main.c:@)\n",
            "==7==    by 0x4@: start (in /usr/lib/x86_64-linux-gnu/libc.so.6)\n",
        ),
        (
            "x at a.pl line 1.",
            "\tmain::f@(1) called at a.pl line @\n",
            "\tMoose::x(1) called at /usr/lib/x86_64-linux-gnu/perl5/Moose.pm line @\n",
        ),
        (
            "** (E) x",
            "    (app 0.1.0) lib/app.ex:@: App.f@/1\n",
            "    (phoenix 1.7.0) /srv/deps/phoenix/lib/router.ex:@: R.call/2\n",
        ),
    ] {
        let text = trace(head, user, library, (9, 12));
        let result = shown(&text, Level::Standard);
        let first = user.lines().last().unwrap_or("").replace("@", "1");
        let last = user.lines().last().unwrap_or("").replace("@", "9");
        for kept in [head, first.as_str(), last.as_str()] {
            assert!(result.contains(kept), "{kept}\n{result}");
        }
        assert!(result.contains("library frames omitted]"), "{result}");
        assert!(result.contains("[rtk: 3 frames omitted]"), "{result}");
        assert!(!shown(&text, Level::Minimal).contains(" 3 frames"), "{text}");
        assert_eq!(shown(&result, Level::Standard).lines().count(), result.lines().count(), "{result}");
    }
}

#[test]
fn python_keeps_source_lines_and_both_ends() {
    let mut text = String::from("before\nTraceback (most recent call last):\n");
    for n in 1..=9 {
        text += &format!("  File \"/srv/app/m{n}.py\", line {n}, in f{n}\n    call({n})\n    ^^^^^^^\n");
        text += &format!("  File \"/usr/lib/python3/dist-packages/lib.py\", line {n}, in g\n    lib({n})\n");
    }
    text += "ValueError: wrong\nafter\n";
    let result = shown(&text, Level::Standard);
    for kept in
        ["before", "Traceback", "m1.py", "call(1)", "m5.py", "m9.py", "call(9)", "ValueError: wrong", "after"]
    {
        assert!(result.contains(kept), "{kept}\n{result}");
    }
    assert!(!result.contains("m6.py") && !result.contains("^^^") && !result.contains("lib(7)"), "{result}");
}

#[test]
fn cycles_and_repeated_traces_are_written_once() {
    let pair = |_: usize| "    at a (/srv/x.js:3:1)\n    at b (/srv/y.js:4:1)\n";
    let text =
        format!("RangeError: deep\n{}    at main (/srv/z.js:1:1)\n", (0..400).map(pair).collect::<String>());
    let result = shown(&text, Level::Standard);
    assert!(result.contains("[rtk: frame cycle of 2 x 400]"), "{result}");
    assert_eq!(result.lines().count(), 5);
    let one = "Error: x\n    at a (/srv/long/path/to/a.js:1:1)\n    at b (/srv/long/path/to/b.js:2:1)\n    at c (/srv/c.js:3:1)\n";
    let result = shown(&one.repeat(3), Level::Standard);
    assert_eq!(result.matches("Error: x").count(), 3, "{result}");
    assert_eq!(result.matches("a.js").count(), 1, "{result}");
    assert_eq!(result.matches("[rtk: 3 frames omitted]").count(), 2, "{result}");
}

#[test]
fn prose_is_no_trace() {
    for text in [
        "at the end (of the day)\nat home (maybe)\nat noon (or so)\nat x (y)\nat y (z)\nat z (a)\nat q (r)\nat r (s)\n",
        "#1 first point of the list\n#2 second\n#3 third\n#4 fourth\n#5 fifth\n#6 sixth\n#7 seventh\n",
        "from a to b\nfrom b to c\n1: one\n2: two\n3: three\n4: four\n5: five\n6: six\n7: seven\n",
    ] {
        assert_eq!(shown(text, Level::Aggressive), text);
    }
}

/// Lines that are neither kept nor frames, under a way to fold.
fn lost(text: &str, fold: impl Fn(&Output<'_>, &mut Draft)) -> usize {
    let out = Output::new(text, Level::Standard);
    let mut draft = Draft::new(out.len());
    fold(&out, &mut draft);
    let odd = |line: &str| line.starts_with("msg") || line.contains("Error:");
    (0..out.len()).filter(|i| !draft.stays(*i) && odd(out.line(*i))).count()
}

#[test]
fn a_twin_that_drops_exception_lines_is_caught() {
    let text = trace("TypeError: x", "    at f (/a.js:@:1)\n", "    at g (node:internal/x:@:1)\n", (9, 9));
    assert_eq!(
        lost(&text, |o, d| {
            fold_traces(o, d, 0..o.len());
        }),
        0
    );
    assert!(lost(&text, |o, d| (0..o.len()).for_each(|i| d.cover(i))) > 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_stay_in_any_mixture(parts in proptest::collection::vec(prop_oneof![
        "msg [ -~]{0,20}", "    at [a-c] \\(/[a-c].js:[0-9]:1\\)", "  File \"[a-c].py\", line [0-9], in f", "main.f\\(\\)", "\t/[a-c].go:[0-9] \\+0x1",
        "\\.\\.\\. [0-9] more", "#[0-9] 0x[0-9] in f", "[A-Z][a-z]{2}Error: [ -~]{0,9}", "\\PC{0,12}", "Shadow bytes around", "  0x00 00"], 0..50)) {
        let text = parts.join("\n");
        for level in Level::ALL {
            let out = Output::new(&text, level);
            let mut draft = Draft::new(out.len());
            fold_traces(&out, &mut draft, 0..out.len());
            for i in 0..out.len() {
                let line = out.line(i);
                let odd = line.starts_with("msg") && !out.line(i.saturating_sub(1)).contains("File \"") || line.contains("Error:");
                prop_assert!(!odd || draft.stays(i), "{}", line);
            }
            let _ = assemble(&out, &mut draft, &mut || None);
        }
    }
}
