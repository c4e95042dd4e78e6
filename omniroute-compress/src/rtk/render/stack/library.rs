//! Whose code a frame is: the program's own, a library's, or the language's.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// Whose code it is, from near to far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// Of the program.
    User,
    /// Of a framework that may also be the program itself.
    Framework,
    /// Of the language, its runtime or an installed package.
    System,
}

/// Parts of a line that show an installed package or the runtime.
const SYSTEM: &[&str] = &[
    "site-packages",
    "dist-packages",
    "node_modules",
    "node:internal",
    "(node:",
    "at node:",
    "/rustc/",
    "/.rustup/",
    "/.cargo/registry",
    "/usr/lib/",
    "/usr/local/lib/",
    "/usr/local/go/",
    "/lib/python",
    "<frozen",
    "java.base/",
    "jdk.internal",
    "org.junit.",
    "sun.reflect",
    "/runtime/",
    "libc.so",
    "libc_start",
    "libc-start",
    "(dart:",
    "/ruby/gems/",
    "/rubygems/",
];

/// Parts that show a framework or a library by its name.
const FRAMEWORK: &[&str] = &[
    "\\.cargo\\registry",
    "libpthread",
    "libsanitizer",
    "/glibc",
    "linux-gnu/",
    "<internal:",
    "at java.",
    "at javax.",
    "at jdk.",
    "at sun.",
    "at com.sun.",
    "at kotlin.",
    "at kotlinx.",
    "at scala.",
    "at groovy.",
    "at org.springframework.",
    "at org.apache.",
    "at org.hibernate.",
    "at org.eclipse.",
    "at org.gradle.",
    "at org.jboss.",
    "at io.netty.",
    "at reactor.",
    "at io.micronaut.",
    "at jakarta.",
    "at com.zaxxer.",
    "at com.fasterxml.",
    "at org.mockito.",
    "at android.",
    "at androidx.",
    "at com.android.",
    "at System.",
    "at Microsoft.",
    "at Xunit.",
    "at NUnit.",
    "$$FastClass",
    "$$EnhancerBy",
    "CGLIB$$",
    "/gems/",
    "/lib/ruby/",
    "/vendor/",
    "\\vendor\\",
    "/go/pkg/mod/",
    "/deps/",
    "(package:flutter/",
    "webpack/bootstrap",
    "- std[",
    "- core[",
    "- alloc[",
    "- <std",
    "- <core",
    "- <alloc",
    "- std::",
    "- core::",
    "- alloc::",
    ": std::",
    ": core::",
    ": alloc::",
    ": <core::",
    ": <alloc::",
    ": <std::",
    "__rust",
    "rust_begin_unwind",
    "rust_panic",
    "__libc_start",
    " - _start",
    " - <unknown>",
    "in __interceptor_",
    "in _start",
    "in __asan",
    "PHPUnit\\",
    "/site_ruby/",
    "{main}",
    "[internal function]",
    "(index 0)",
    ") [node]",
    "  [node]",
    "/phpunit/",
    "perl5/",
    "/perl/",
];

/// Whose code the frame of `line` is.
pub(super) fn origin(line: &[u8]) -> Origin {
    static SEARCHER: OnceLock<AhoCorasick> = OnceLock::new();
    let searcher = SEARCHER.get_or_init(|| {
        AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(SYSTEM.iter().chain(FRAMEWORK))
            .expect("the words are few and short")
    });
    let mut origin = Origin::User;
    for found in searcher.find_overlapping_iter(line) {
        if found.pattern().as_usize() < SYSTEM.len() {
            return Origin::System;
        }
        origin = Origin::Framework;
    }
    origin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_whose_code_it_is() {
        for (line, expected) in [
            ("    at load (/home/u/app/crash.js:3:84)", Origin::User),
            ("    at Object.<anonymous> (/home/u/rej.js:1:16)", Origin::User),
            ("    at Module._compile (node:internal/modules/cjs/loader:1521:14)", Origin::System),
            ("\tat com.acme.Order.commit(Order.java:88)", Origin::User),
            ("\tat java.util.ArrayList.get(ArrayList.java:433)", Origin::Framework),
            ("\tat java.base/java.lang.Thread.run(Thread.java:840)", Origin::System),
            ("\tat org.springframework.web.A.b(A.java:1)", Origin::Framework),
            ("  File \"/usr/local/lib/python3.11/asyncio/runners.py\", line 190, in run", Origin::System),
            ("  File \"/srv/app/runtime.py\", line 1, in run", Origin::User),
            ("\t/usr/local/go/src/runtime/proc.go:271 +0x1d", Origin::System),
            ("\t/home/u/go/pkg/mod/x/y.go:2 +0x1", Origin::Framework),
            ("   at System.String.Format(String f)", Origin::Framework),
            ("  18:     0x56213fade3e8 - webapi::main::h2b0", Origin::User),
        ] {
            assert_eq!(origin(line.as_bytes()), expected, "{line}");
        }
    }
}
