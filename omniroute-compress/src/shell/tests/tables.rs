//! Tables of commands and the class of their output.

use super::super::class::{ResultClass, classify};
use super::{LOG, PLAIN, class};

/// Checks a table of `class` and commands, one command a line.
fn check(expected: ResultClass, text: &str, commands: &str) {
    for command in commands.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let command = command.replace("\\n", "\n");
        assert_eq!(class(&command, text), expected, "{command}");
    }
}

#[test]
fn commands_with_their_own_output() {
    check(
        ResultClass::Command,
        PLAIN,
        r#"
        cargo test
        cd /x && cargo build 2>&1 | tail -n 20
        RUST_BACKTRACE=1 cargo +nightly --color never test --lib a
        timeout 60s env A=b sudo -E -u me cargo clippy
        bash -lc 'cd x && npm ci'
        bash -euo pipefail -c "pytest -q && ruff check ."
        zsh -c "bash -c 'git status'"
        python -m pytest -q
        .venv/bin/python3.12 -X dev -m pytest
        uv run --with x pytest -q
        uv run -m pytest
        poetry run mypy src
        npx --yes tsc --noEmit
        ./node_modules/.bin/eslint src
        node node_modules/.pnpm/mocha@1/node_modules/mocha/bin/mocha.js x
        pnpm --filter web exec vitest run
        bundle exec rspec
        docker exec -it web ls -la
        docker compose -f a.yml exec -T db ls; true && docker ps
        kubectl exec pod-1 -n x -- ls /
        git -C repo -c a.b=c --no-pager status
        git log --oneline -5
        git diff --stat && git status --short
        git show --stat HEAD
        git add -A && git commit -m "$(cat <<'EOF'\nit's (a) message\nEOF\n)"
        ls -la && echo "---" && find . -name '*.rs' | head
        ls | wc -l; echo "exit $?"
        kubectl get pods -A | grep -v Running
        terraform -chdir=infra plan -no-color
        make -C build -j8 test
        make
        npm run build && npm run test:unit 2>&1 | tail -5
        yarn build
        gradlew :app:assembleDebug
        ./gradlew test --tests X
        docker compose up -d
        pip install -e . > /dev/null && pytest
        cat > f.rs <<'EOF'\nfn main() {}\nEOF\ncargo build
        cat a b > c; cargo check
        tee f < x > /dev/null; cargo check
        rm -rf x
        X=1; export Y=2; (cd a && go test ./...) 2>&1 | tee log.txt
        if [ -f Cargo.toml ]; then cargo build; else go build; fi
        for d in a b; do go vet ./$d; done
        case $x in a) cargo build;; *) go build ;; esac
        f() { cat x; }; cargo build
        [[ -f a && $b == c ]] && cargo build
        while ! ls x; do sleep 1; done
        i=1; ((i++)); for ((i=0; i<3; i++)); do ls; done
        curl -s -o /dev/null -w '%{http_code}' http://x
        find . -name x -exec ls -l {} \;
        git ls-files | xargs wc -l
        cat a | wc -l
        eval "cargo build"
        ssh -p 22 host 'uptime && df -h'
        gofmt -l .
        black --check .
        prettier --check src
        git diff --name-only main...HEAD | sort
        bash <<'EOF'\ncargo build\nEOF
        "#,
    );
}

#[test]
fn views_and_diffs() {
    check(
        ResultClass::View,
        PLAIN,
        r#"
        cat a.rs
        sed -n '1,240p' src/a.ts
        nl -ba a.rs | sed -n '1,9p'
        cat -n a | head
        head -50 CHANGELOG.md; tail -3 b
        cd x && cat a && echo "=== b ===" && cat b
        git show HEAD:src/a.rs | head -40
        git blame a.rs
        grep -rn 'fn' src | head
        rg -n x src
        cat a | grep x
        awk 'NR>3' a.rs
        cat <<'EOF'\ntext\nEOF
        cat < a.rs
        sort a.txt | uniq -c
        xxd a | head
        base64 a
        find . -name '*.md' -exec cat {} +
        git ls-files | xargs cat
        bash -c 'cat a.rs'
        sudo cat /etc/hosts
        docker exec web cat /etc/nginx.conf
        kubectl exec p -- cat /etc/x
        ssh host cat /etc/x
        if true; then cat a; fi
        { cat a; cat b; } | head
        gofmt a.go
        prettier a.ts
        unzip -p a.zip b
        tar xOf a.tgz b
        cargo llvm-cov --text
        docker exec web sh -c 'cat /etc/x'
        ls *.md | xargs -I{} head -5 {}
        nohup cargo build > log 2>&1 & tail log
        sudo sh -c "cat /etc/x"
        c\at a
        cat > a <<EOF && cat a\nx\nEOF
        type a.log
        cargo expand
        systemctl cat nginx
        git diff | grep '^+'
        time cat a
        command cat a
        /bin/cat a
        Get-Content a.ps1
        "#,
    );
    check(
        ResultClass::Diff,
        PLAIN,
        r#"
        git diff
        git diff HEAD~1 -- a b | head -100
        git show
        git show HEAD && git diff --cached
        git log -p -2
        git log --stat -p
        git stash show -p
        diff -u a b
        diff <(cat a) <(cat b)
        ruff format --diff .
        cargo fmt --check
        cargo fmt -- --check
        gofmt -d .
        terraform fmt -check -diff a.tf
        gh pr diff 3
        kubectl diff -f a.yml
        "#,
    );
}

#[test]
fn what_is_not_certain_is_unknown() {
    check(
        ResultClass::Unknown,
        PLAIN,
        r#"
        python script.py
        python - <<'PY'\nprint(1)\nPY
        node x.js
        ./script
        ./test
        ./node
        scripts/test
        /tmp/bin/ls
        bash x.sh
        npm run deploy
        npm run start
        make frobnicate
        just
        cargo run
        go run ./x
        docker run --rm image ls -d
        cat a && cargo build
        git status; git diff
        echo "$CONTENT"
        echo "$(cat a)"
        echo done
        for f in a b; do echo "$f"; cat $f; done
        cargo build; ./target/debug/app
        curl -s http://x
        curl -fsSL http://x | bash
        time { cargo build; }
        cat <<'EOF' > a.sh; bash a.sh\nls\nEOF
        cat a | python -c 'import sys'
        python x.py | head
        python x.py | wc -l
        cat a | while read l; do echo "$l"; done
        cat 'unterminated
        cat <<EOF
        $CMD build
        $(npm bin)/eslint src
        xargs xargs xargs
        kubectl get cm x -o yaml
        kubectl describe configmap x
        docker logs web
        git unknown-alias
        psql -c 'select 1'
        find . | xargs -I{} sh -c 'cat {}'
        cargo build > >(cat a)
        source env.sh
        set
        coverage run x.py
        rustup run nightly ./x
        man git
        eval "$x"
        printf '%s\n' "$a"
        gradle printThing
        "#,
    );
}

#[test]
fn text_decides_logs_and_structured() {
    for command in [
        "cat a.log",
        "tail -100 a.log",
        "sed -n '1,9p' a.log",
        "docker logs web 2>&1 | tail -50",
        "kubectl logs p | grep x",
        "cat a.log | head",
    ] {
        assert_eq!(class(command, LOG), ResultClass::Log, "{command}");
    }
    for command in ["grep INFO a.log", "cat -n a.log", "cat a.log | grep INFO", "bat a.log"] {
        assert_eq!(class(command, LOG), ResultClass::View, "{command}");
    }
    assert_eq!(class("journalctl -n 5", "No entries"), ResultClass::Command);
    assert_eq!(class("cat a.log; cargo build", LOG), ResultClass::Unknown);
    let short: String = LOG.lines().take(7).map(|line| format!("{line}\n")).collect();
    assert_eq!(class("cat a.log", &short), ResultClass::View);
    let json = "{\"a\": [1, true, \"x]\"]}\n";
    for command in [
        "curl -s http://x",
        "kubectl get pods -o json",
        "python x.py",
        "jq . a.json",
        "npm view x --json",
        "docker inspect x",
    ] {
        assert_eq!(class(command, json), ResultClass::Structured, "{command}");
    }
    assert_eq!(class("cat a.json", json), ResultClass::View);
    assert_eq!(class("cat a.json; python x.py", json), ResultClass::Unknown);
    assert_eq!(class("mvn test", "[INFO] a\n[1/2] b\n[exit code 1]"), ResultClass::Command);
    assert_eq!(class("go list -json ./...", "{\n\"a\": 1\n}\n{\n\"a\": 2\n}\n"), ResultClass::Unknown);
    assert_eq!(class("go test -json", "{\"a\":1}\n{\"a\":2}\n"), ResultClass::Structured);
    assert_eq!(classify(Some("get_user"), None, None, json), ResultClass::Structured);
    assert_eq!(classify(Some("get_user"), None, None, PLAIN), ResultClass::Unknown);
    assert_eq!(classify(None, None, None, PLAIN), ResultClass::Unknown);
}

#[test]
fn tools_and_argument_vectors() {
    let argv = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let of = |words: &[&str]| classify(Some("local_shell"), None, Some(&argv(words)), PLAIN);
    assert_eq!(of(&["bash", "-lc", "pytest -q | tail"]), ResultClass::Command);
    assert_eq!(of(&["cat", "a;b"]), ResultClass::View);
    assert_eq!(of(&["cargo build"]), ResultClass::Command);
    assert_eq!(of(&["echo", "|", "cat"]), ResultClass::Unknown);
    assert_eq!(classify(Some("str_replace_based_edit_tool"), Some("view"), None, PLAIN), ResultClass::View);
    assert_eq!(classify(Some("Read"), None, None, LOG), ResultClass::View);
    assert_eq!(classify(Some("queue"), Some("ls"), None, PLAIN), ResultClass::Unknown);
    assert_eq!(classify(None, Some("ls"), None, PLAIN), ResultClass::Command);
    assert_eq!(classify(Some("bash"), None, None, PLAIN), ResultClass::Unknown);
}
