//! Files whose changes say little: lock files, minified files, snapshots.

/// Whether a path names a file that a tool writes.
pub(super) fn is_generated(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches('"');
    const NAMES: [&str; 4] = ["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum"];
    const ENDS: [&str; 6] = [".lock", ".lockb", ".min.js", ".min.css", ".map", ".snap"];
    NAMES.contains(&name) || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_generated_files() {
        for (path, is) in [
            ("b/Cargo.lock", true),
            ("web/package-lock.json", true),
            ("a/x.min.js", true),
            ("src/lock.rs", false),
            ("src/unlock", false),
            ("Cargo.toml", false),
        ] {
            assert_eq!(is_generated(path), is, "{path}");
        }
    }
}
