//! What kind of tool made a result, by the tool's name.

/// The kinds of tools that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ToolKind {
    /// Runs a command line.
    Shell,
    /// Shows files, pages, listings or search hits.
    Read,
    /// Changes files and shows what it did.
    Write,
    /// Anything else.
    Other,
}

/// Longest tool name that is looked at.
const MAX_NAME: usize = 256;

const SHELL: &[&str] = &[
    "bash",
    "sh",
    "zsh",
    "shell",
    "terminal",
    "exec",
    "execute",
    "run",
    "command",
    "cmd",
    "powershell",
    "pwsh",
    "process",
    "console",
    "subprocess",
];
/// Interpreters of other languages: what they are given is no command line.
const LANGUAGES: &[&str] = &["python", "ipython", "jupyter", "sql", "javascript", "js", "node", "ruby"];
/// Editing words that stand for an edit tool wherever they appear.
const WRITE: &[&str] = &["edit", "editor", "write", "replace", "todo"];
/// Words that make `create`, `insert`, `update`, `patch` an edit of a file.
const WRITABLE: &[&str] = &["file", "files", "cell", "line", "lines", "text", "notebook", "code"];
/// Reading words that stand for a read-like tool wherever they appear.
const READ: &[&str] = &[
    "read",
    "glob",
    "ls",
    "grep",
    "rg",
    "ripgrep",
    "browser",
    "screenshot",
    "notebook",
    "webfetch",
    "websearch",
];
/// Words that make `view`, `open`, `list`, `search`, `find`, `fetch`, `get`, `cat` a read-like tool.
const READABLE: &[&str] = &[
    "file",
    "files",
    "dir",
    "directory",
    "folder",
    "code",
    "codebase",
    "content",
    "contents",
    "symbol",
    "symbols",
    "references",
    "definition",
    "page",
    "web",
    "url",
    "html",
    "text",
    "workspace",
    "path",
    "name",
    "document",
    "doc",
    "docs",
    "image",
    "item",
    "items",
    "range",
    "repository",
];
const READERS: &[&str] =
    &["view", "open", "list", "search", "find", "fetch", "get", "cat", "show", "scroll", "goto"];

/// Classifies a tool name; case, separators and the name of a tool server do not matter.
pub(crate) fn tool_kind(name: &str) -> ToolKind {
    let name = name.get(..MAX_NAME).unwrap_or(name);
    if name.len() > MAX_NAME {
        return ToolKind::Other;
    }
    // The last part first: `mcp__terminal__read_file` reads. The server's name counts when the part says nothing.
    let tail = name.rsplit_once("__").map_or(name, |(_, tail)| tail);
    let tail = tail.rsplit(['.', ':', '/']).next().unwrap_or(tail);
    match by_words(&words(tail)) {
        ToolKind::Other if tail.len() < name.len() => by_words(&words(name)),
        kind => kind,
    }
}

fn by_words(words: &[String]) -> ToolKind {
    let any = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let sole = |list: &[&str]| words.len() == 1 && any(list);
    let has = |word: &str| words.iter().any(|other| other == word);
    let patches = any(&["patch", "update"]) && (has("apply") || any(WRITABLE)) || sole(&["patch"]);
    let creates = any(&["create", "insert"]) && any(WRITABLE) || sole(&["create", "insert"]);
    if !any(SHELL) {
        return match () {
            () if any(WRITE) || patches || creates => ToolKind::Write,
            () if any(READ) || any(READERS) && any(READABLE) || sole(READERS) => ToolKind::Read,
            () => ToolKind::Other,
        };
    }
    match words.first().map(String::as_str) {
        _ if any(LANGUAGES) => ToolKind::Other,
        Some("read" | "view" | "get" | "list") => ToolKind::Read,
        Some("write" | "edit" | "replace") => ToolKind::Write,
        _ => ToolKind::Shell,
    }
}

/// Lower-case words of a name: split at separators and at capitals.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous = '_';
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let next_lower = chars.peek().is_some_and(|next| next.is_ascii_lowercase());
        let starts = c.is_ascii_uppercase()
            && (previous.is_ascii_lowercase() || previous.is_ascii_uppercase() && next_lower);
        if !c.is_alphanumeric() || starts {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(c.to_ascii_lowercase());
        }
        previous = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::{ToolKind, tool_kind};

    #[test]
    fn names_of_known_harnesses() {
        use ToolKind::{Other, Read, Shell, Write};
        for (kind, names) in [
            (
                Shell,
                "Bash bash shell run_terminal_cmd local_shell shell_command container.exec functions.shell execute_command mcp__srv__run_shell \
                 run_shell_command exec_command run_in_terminal execute_bash run_bash_command runTerminalCmd BashOutput default_api:run PowerShell",
            ),
            (
                Read,
                "read Read read_file ReadFile fs_read mcp__filesystem__read_text_file view view_file open open_file cat_file glob Glob ls LS \
                 list_dir list_directory list_files grep Grep grep_search codebase_search find_references find_file web_fetch WebFetch WebSearch \
                 fetch search NotebookRead get_file_contents mcp__Claude_Browser__read_page mcp__Claude_Browser__navigate read_many_files \
                 mcp__terminal__read_file get_terminal_output mcp__x__get_page_text",
            ),
            (
                Write,
                "edit Edit MultiEdit multi_edit write Write write_file edit_file apply_patch str_replace str_replace_based_edit_tool \
                 str_replace_editor create insert replace NotebookEdit TodoWrite create_file search_and_replace text_editor",
            ),
            (
                Other,
                "search_direct_flight get_user_details book_reservation create_issue kubectl_describe fetch_pod_logs Task Agent think submit \
                 update_reservation_flights calculate search_people_q_query_for_tvmaze insert_row execute_sql run_python",
            ),
        ] {
            for name in names.split_whitespace() {
                assert_eq!(tool_kind(name), kind, "{name}");
            }
        }
    }
}
