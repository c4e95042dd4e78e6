//! A registry of the tests' own: ids and the words they stand for.

/// Id and command prefixes.
const TABLE: &[(&str, &[&str])] = &[
    ("git-status", &["git status"]),
    ("git-branch", &["git branch", "git checkout", "git switch"]),
    ("git-diff", &["git diff", "gh pr diff"]),
    ("git-show", &["git show"]),
    (
        "git-stat",
        &[
            "git diff --stat",
            "git diff --numstat",
            "git diff --shortstat",
            "git diff --name-only",
            "git diff --name-status",
            "git show --stat",
        ],
    ),
    ("git-log", &["git log"]),
    ("git-commit", &["git commit"]),
    ("git-push", &["git push"]),
    (
        "git-pull",
        &[
            "git pull",
            "git fetch",
            "git merge",
            "git rebase",
            "git clone",
            "git cherry-pick",
            "git am",
            "git stash",
            "git revert",
        ],
    ),
    ("git-worktree", &["git worktree"]),
    ("git-remote", &["git remote"]),
    ("git-shortlog", &["git shortlog"]),
    ("git-ls-files", &["git ls-files"]),
    ("git-blame", &["git blame"]),
    ("test-vitest", &["vitest"]),
    ("test-jest", &["jest"]),
    ("test-pytest", &["pytest"]),
    ("test-unittest", &["unittest"]),
    ("test-cargo", &["cargo test"]),
    ("cargo-nextest", &["cargo nextest"]),
    ("test-go", &["go test"]),
    ("test-mocha", &["mocha"]),
    ("test-node", &["node --test"]),
    ("playwright", &["playwright"]),
    ("rspec", &["rspec"]),
    ("ctest", &["ctest"]),
    ("build-typescript", &["tsc"]),
    ("build-eslint", &["eslint"]),
    ("build-webpack", &["webpack"]),
    ("build-vite", &["vite build"]),
    ("ruff", &["ruff"]),
    ("golangci-lint", &["golangci-lint"]),
    ("mypy", &["mypy"]),
    ("biome", &["biome"]),
    ("prettier", &["prettier"]),
    ("make", &["make"]),
    ("gradle", &["gradle"]),
    ("mvn", &["mvn"]),
    ("dotnet", &["dotnet"]),
    ("turbo", &["turbo"]),
    ("nx", &["nx"]),
    ("rubocop", &["rubocop"]),
    ("npm-audit", &["npm audit", "pnpm audit", "yarn audit"]),
    (
        "npm-install",
        &[
            "npm install",
            "npm ci",
            "npm update",
            "npm uninstall",
            "pnpm install",
            "pnpm add",
            "yarn install",
            "yarn add",
            "bun install",
        ],
    ),
    ("npm-ls", &["npm ls", "pnpm list"]),
    ("npm-outdated", &["npm outdated"]),
    ("pip", &["pip install", "pip sync", "pip download", "pip uninstall", "pip check", "pip wheel"]),
    ("pip-list", &["pip list", "pip show", "pip outdated"]),
    ("uv-sync", &["uv sync", "uv pip", "uv add", "uv lock", "uv remove", "uv tree"]),
    ("poetry-install", &["poetry install", "poetry update"]),
    ("bundle-install", &["bundle install"]),
    ("composer", &["composer install", "composer update"]),
    ("apt-get", &["apt-get"]),
    ("apt-list", &["apt list"]),
    ("dpkg", &["dpkg -l"]),
    ("docker-logs", &["docker logs", "docker compose logs"]),
    ("docker-build", &["docker build", "docker buildx", "docker compose build"]),
    ("docker-ps", &["docker ps", "docker compose ps"]),
    ("docker-images", &["docker images"]),
    ("docker-compose", &["docker compose"]),
    ("terraform-plan", &["terraform plan"]),
    ("terraform-apply", &["terraform apply", "terraform destroy"]),
    ("terraform-init", &["terraform init", "terraform validate", "terraform fmt"]),
    ("tofu-plan", &["tofu plan"]),
    ("systemctl-status", &["systemctl status"]),
    (
        "kubectl",
        &[
            "kubectl get",
            "kubectl describe",
            "kubectl apply",
            "kubectl create",
            "kubectl delete",
            "kubectl rollout",
            "kubectl events",
            "kubectl top",
        ],
    ),
    ("kubectl-logs", &["kubectl logs"]),
    ("journalctl", &["journalctl", "dmesg"]),
    ("aws", &["aws"]),
    ("gcloud", &["gcloud"]),
    ("gh", &["gh pr", "gh issue", "gh repo", "gh run", "gh workflow", "gh release", "gh auth"]),
    ("rsync", &["rsync"]),
    ("ssh", &["ssh"]),
    ("curl", &["curl"]),
    ("wget", &["wget"]),
    ("shell-grep", &["grep", "rg", "ag", "git grep"]),
    ("shell-find", &["find", "fd"]),
    ("shell-ls", &["ls"]),
    ("tree", &["tree"]),
    ("ps", &["ps"]),
    ("df", &["df"]),
    ("du", &["du"]),
    ("wc", &["wc"]),
    ("diff", &["diff"]),
    ("ping", &["ping"]),
    ("ss", &["ss", "netstat"]),
    ("unzip", &["unzip -l"]),
    ("psql", &["psql", "sqlite3", "mysql"]),
    ("cargo-build", &["cargo build", "cargo check", "cargo doc", "rustc"]),
    ("cargo-clippy", &["cargo clippy"]),
    ("cargo-fmt", &["cargo fmt"]),
    ("cargo-update", &["cargo update", "cargo add"]),
    ("cargo-tree", &["cargo tree"]),
    ("gcc", &["gcc"]),
    ("ninja", &["ninja"]),
    ("cmake", &["cmake"]),
    ("javac", &["javac"]),
    ("go-build", &["go build", "go get", "go install", "go mod"]),
    ("go-vet", &["go vet"]),
    ("shellcheck", &["shellcheck"]),
    ("pyright", &["pyright"]),
    ("flake8", &["flake8"]),
    ("pylint", &["pylint"]),
    ("ansible-playbook", &["ansible-playbook"]),
    ("helm", &["helm"]),
    ("ffmpeg", &["ffmpeg"]),
];

/// The id of the longest prefix of `words`.
pub(crate) fn lookup(words: &[&str]) -> Option<&'static str> {
    let first = words.first()?;
    let fits = |prefix: &str| -> Option<usize> {
        let rest = prefix.strip_prefix(first)?;
        let mut count = 1;
        for word in rest.split(' ').skip(1) {
            if words.get(count) != Some(&word) {
                return None;
            }
            count += 1;
        }
        (rest.is_empty() || rest.starts_with(' ')).then_some(count)
    };
    let mut best = (0, None);
    for (id, prefixes) in TABLE {
        for prefix in *prefixes {
            if let Some(count) = fits(prefix).filter(|count| *count > best.0) {
                best = (count, Some(*id));
            }
        }
    }
    best.1
}
