//! Which keywords a dialect knows, and which of the others the model is told about.

use super::Dialect;

/// What Gemini takes in `parametersJsonSchema` and `responseJsonSchema`.
const GEMINI_JSON: &[&str] = &[
    "$defs",
    "$ref",
    "$anchor",
    "$id",
    "type",
    "format",
    "title",
    "description",
    "enum",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "oneOf",
    "properties",
    "additionalProperties",
    "required",
    "propertyOrdering",
];

/// What older hosts take.
const GEMINI_OPENAPI: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "anyOf",
    "propertyOrdering",
    "default",
    "example",
];

/// Formats that older hosts take.
pub(super) const FORMATS: &[&str] = &["date-time", "enum", "int32", "int64", "float", "double"];

/// Keywords whose value is a number.
pub(super) const NUMBERS: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
];

/// Keywords that say nothing about what is allowed, or nothing that is left to be told.
const SILENT: &[&str] = &[
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "$vocabulary",
    "$defs",
    "definitions",
    "$ref",
    "strict",
    "deprecated",
    "readOnly",
    "writeOnly",
    "title",
    "additionalItems",
    "unevaluatedProperties",
    "unevaluatedItems",
];

/// Longest value, in bytes, that is told in a description.
const SHORT: usize = 200;

impl Dialect {
    pub(super) fn knows(self, keyword: &str) -> bool {
        let list = match self {
            Dialect::GeminiJson => GEMINI_JSON,
            Dialect::GeminiOpenapi => GEMINI_OPENAPI,
        };
        list.contains(&keyword)
    }
}

/// What the model is told about a keyword that is left out: `value` as JSON, or the characters of `text`.
pub(super) fn told(keyword: &str, value: &str, text: Option<&str>) -> Option<String> {
    let shown = text.unwrap_or(value);
    match (keyword, value) {
        _ if SILENT.contains(&keyword) || keyword.starts_with("x-") || shown.len() > SHORT => None,
        ("additionalProperties", "true" | "false") | ("uniqueItems", "false") => None,
        ("uniqueItems", _) => Some("Items must be unique.".to_owned()),
        ("enum", list) => {
            Some(format!("Allowed values: {}.", list.trim_matches(['[', ']']).replace(',', ", ")))
        }
        _ => Some(format!("({keyword} {shown})")),
    }
}
