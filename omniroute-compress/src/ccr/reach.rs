//! Whether the model can fetch anything at all: the request's own tools and its choice among them decide.

use omniroute_core::{Doc, Kind, NodeId};

use super::TOOL;

/// Whether a tool of this name is the retrieval tool, under its own name or behind the prefix of a tool server.
pub(crate) fn is_tool(name: &str) -> bool {
    name == TOOL || name.strip_suffix(TOOL).is_some_and(|prefix| prefix.ends_with("__"))
}

/// Whether the request lets the model choose the retrieval tool: not where no tool may be called, nor where
/// another one must be.
pub(crate) fn tool_choice_allows(doc: &Doc) -> bool {
    let root = doc.root();
    let choice = doc.get(root, "tool_choice").or_else(|| doc.get(root, "function_call"));
    choice.is_none_or(|choice| allows(doc, choice)) && gemini_allows(doc, root)
}

fn allows(doc: &Doc, choice: NodeId) -> bool {
    match doc.kind(choice) {
        Kind::String => !doc.str(choice).is_some_and(|word| word.eq_ignore_ascii_case("none")),
        Kind::Object => {
            let kind = doc.get(choice, "type").and_then(|n| doc.str(n));
            match kind.as_deref() {
                Some("auto" | "any" | "required") => true,
                Some("none") => false,
                // A tool by name, or a list of allowed ones.
                _ => names_tool(doc, choice),
            }
        }
        _ => true,
    }
}

fn gemini_allows(doc: &Doc, root: NodeId) -> bool {
    let config = doc.get(root, "toolConfig").or_else(|| doc.get(root, "tool_config"));
    let calling = config
        .and_then(|c| doc.get(c, "functionCallingConfig").or_else(|| doc.get(c, "function_calling_config")));
    let Some(calling) = calling else { return true };
    let mode = doc.get(calling, "mode").and_then(|n| doc.str(n)).unwrap_or_default();
    let names =
        doc.get(calling, "allowedFunctionNames").or_else(|| doc.get(calling, "allowed_function_names"));
    !mode.eq_ignore_ascii_case("none") && names.is_none_or(|names| names_tool(doc, names))
}

/// Whether any string inside `node` names the tool.
fn names_tool(doc: &Doc, node: NodeId) -> bool {
    match doc.kind(node) {
        Kind::String => doc.str(node).is_some_and(|text| is_tool(&text)),
        Kind::Array => doc.elements(node).any(|n| names_tool(doc, n)),
        Kind::Object => doc.members(node).any(|(_, n)| names_tool(doc, n)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_is_known_by_its_exact_name_only() {
        for name in
            ["omniroute_ccr_retrieve", "mcp__omni__omniroute_ccr_retrieve", "__omniroute_ccr_retrieve"]
        {
            assert!(is_tool(name), "{name}");
        }
        for name in [
            "",
            "ccr_retrieve",
            "omniroute_ccr_retrieve2",
            "my_omniroute_ccr_retrieve",
            "omniroute_ccr_store",
        ] {
            assert!(!is_tool(name), "{name}");
        }
    }

    #[test]
    fn a_choice_may_rule_it_out() {
        for (body, allowed) in [
            (r#"{}"#, true),
            (r#"{"tool_choice":null}"#, true),
            (r#"{"tool_choice":"auto"}"#, true),
            (r#"{"tool_choice":"required"}"#, true),
            (r#"{"tool_choice":"none"}"#, false),
            (r#"{"function_call":"none"}"#, false),
            (r#"{"tool_choice":{"type":"any"}}"#, true),
            (r#"{"tool_choice":{"type":"none"}}"#, false),
            (r#"{"tool_choice":{"type":"tool","name":"bash"}}"#, false),
            (r#"{"tool_choice":{"type":"tool","name":"omniroute_ccr_retrieve"}}"#, true),
            (r#"{"tool_choice":{"type":"function","function":{"name":"bash"}}}"#, false),
            (r#"{"tool_choice":{"type":"web_search"}}"#, false),
            (
                r#"{"tool_choice":{"type":"allowed_tools","tools":[{"name":"x__omniroute_ccr_retrieve"}]}}"#,
                true,
            ),
            (r#"{"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}}"#, true),
            (r#"{"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}"#, false),
            (
                r#"{"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["a"]}}}"#,
                false,
            ),
            (r#"{"tool_config":{"function_calling_config":{"mode":"ANY"}}}"#, true),
        ] {
            assert_eq!(tool_choice_allows(&Doc::parse(body).unwrap()), allowed, "{body}");
        }
    }
}
