//! Sample outputs with error lines. A filter of a user or project that is chosen for one must not hide them.

/// A sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Canary {
    /// Its name in messages.
    pub(crate) name: &'static str,
    /// The command that printed it.
    pub(crate) words: &'static [&'static str],
    /// Its class.
    pub(crate) class: &'static str,
    /// The output.
    pub(crate) text: &'static str,
    /// Parts of lines that must be in the result.
    pub(crate) errors: &'static [&'static str],
}

/// All samples, written for this purpose.
pub(crate) const CANARIES: [Canary; 12] = [
    Canary {
        name: "pytest failure",
        words: &["pytest", "-q"],
        class: "test-pytest",
        text: "..F.\n=== FAILURES ===\n___ test_total ___\n\n    def test_total():\n>       assert total([1, 2]) == 4\nE       assert 3 == 4\n\ntests/test_sum.py:5: AssertionError\n=== short test summary info ===\nFAILED tests/test_sum.py::test_total - assert 3 == 4\n1 failed, 3 passed in 0.02s\n",
        errors: &["E       assert 3 == 4", "FAILED tests/test_sum.py::test_total", "1 failed, 3 passed"],
    },
    Canary {
        name: "rustc error",
        words: &["cargo", "build"],
        class: "build-cargo",
        text: "   Compiling pump v0.1.0\nerror[E0308]: mismatched types\n --> src/main.rs:7:18\n  |\n7 |     let x: u32 = \"a\";\n  |                  ^^^ expected `u32`, found `&str`\n\nerror: could not compile `pump` (bin \"pump\") due to 1 previous error\n",
        errors: &["error[E0308]: mismatched types", "error: could not compile `pump`"],
    },
    Canary {
        name: "npm error",
        words: &["npm", "install"],
        class: "npm-install",
        text: "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error Found: left@2.0.0\nnpm error Could not resolve dependency:\n",
        errors: &["npm error code ERESOLVE", "npm error Could not resolve dependency:"],
    },
    Canary {
        name: "Python traceback",
        words: &["python3", "app.py"],
        class: "error-stacktrace",
        text: "starting\nTraceback (most recent call last):\n  File \"app.py\", line 3, in <module>\n    run()\nValueError: no route to depot\n",
        errors: &["Traceback (most recent call last):", "ValueError: no route to depot"],
    },
    Canary {
        name: "merge conflict",
        words: &["git", "merge", "topic"],
        class: "git-action",
        text: "Auto-merging src/lib.rs\nCONFLICT (content): Merge conflict in src/lib.rs\nAutomatic merge failed; fix conflicts and then commit the result.\n",
        errors: &["CONFLICT (content): Merge conflict in src/lib.rs", "Automatic merge failed"],
    },
    Canary {
        name: "git fatal",
        words: &["git", "status"],
        class: "git-status",
        text: "fatal: not a git repository (or any of the parent directories): .git\n",
        errors: &["fatal: not a git repository"],
    },
    Canary {
        name: "HTTP 5xx",
        words: &["docker", "logs", "web"],
        class: "docker-logs",
        text: "10.0.0.3 - - \"GET /health HTTP/1.1\" 200 2\n10.0.0.3 - - \"POST /orders HTTP/1.1\" 502 157\n10.0.0.3 - - \"GET /health HTTP/1.1\" 200 2\n",
        errors: &["\"POST /orders HTTP/1.1\" 502"],
    },
    Canary {
        name: "TypeScript error",
        words: &["tsc", "--noEmit"],
        class: "build-typescript",
        text: "src/cart.ts(12,7): error TS2322: Type 'string' is not assignable to type 'number'.\nFound 1 error in src/cart.ts:12\n",
        errors: &["error TS2322"],
    },
    Canary {
        name: "make failure",
        words: &["make", "all"],
        class: "make",
        text: "cc -c main.c -o main.o\nmain.c:4:3: error: 'x' undeclared (first use in this function)\nmake: *** [Makefile:9: main.o] Error 1\n",
        errors: &["error: 'x' undeclared", "make: *** [Makefile:9: main.o] Error 1"],
    },
    Canary {
        name: "terraform error",
        words: &["terraform", "plan"],
        class: "terraform-plan",
        text: "Refreshing state...\n\nError: Reference to undeclared resource\n\n  on main.tf line 12, in resource \"local_file\" \"a\":\n",
        errors: &["Error: Reference to undeclared resource"],
    },
    Canary {
        name: "permission denied",
        words: &["ls", "-la", "/srv"],
        class: "shell-ls",
        text: "total 0\nls: cannot open directory '/srv/keys': Permission denied\n",
        errors: &["Permission denied"],
    },
    Canary {
        name: "vulnerability",
        words: &["npm", "audit"],
        class: "npm-audit",
        text: "# npm audit report\n\nleftpad  <2.0.0\nSeverity: critical\nPrototype pollution in leftpad\nfix available via `npm audit fix`\n\n1 critical severity vulnerability\n",
        errors: &["Severity: critical", "1 critical severity vulnerability"],
    },
];
