//! Schemas that are hard on a converter, and what has to become of them.

use super::*;
use serde_json::Value;

const JSON: Dialect = Dialect::GeminiJson;
const OPENAPI: Dialect = Dialect::GeminiOpenapi;

/// A dialect, a schema, what becomes of it, and what is named.
const CASES: &[(Dialect, &str, &str, &str)] = &[
    // Nothing to do.
    (JSON, r#"{"type":"object","properties":{}}"#, r#"{"type":"object","properties":{}}"#, ""),
    (OPENAPI, r#"{"type":"object","properties":{}}"#, r#"{"type":"object","properties":{}}"#, ""),
    (
        JSON,
        r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
        r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
        "",
    ),
    // All the steps of the older dialect at once.
    (
        OPENAPI,
        r##"{"$schema":"x","type":"object","$defs":{"P":{"type":"object","properties":{"pattern":{"type":["string","null"],"minLength":1}}}},"properties":{"p":{"$ref":"#/$defs/P"},"mode":{"const":"fast"},"n":{"type":"integer","exclusiveMinimum":0,"enum":[1,2]},"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}]},"tags":{"type":"array","uniqueItems":true}},"required":["p","gone"],"additionalProperties":false}"##,
        r#"{"type":"object","properties":{"p":{"type":"object","properties":{"pattern":{"type":"string","nullable":true,"minLength":1}}},"mode":{"type":"string","enum":["fast"]},"n":{"type":"integer","minimum":1,"description":"Allowed values: 1, 2."},"pair":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]},"minItems":2,"maxItems":2},"tags":{"type":"array","items":{"type":"string"},"description":"Items must be unique."}},"required":["p"]}"#,
        "$defs $ref $schema additionalProperties const enum exclusiveMinimum items prefixItems required type uniqueItems",
    ),
    // A reference that leads nowhere, or to a name that is no path, takes nothing away from what stands beside it.
    (
        OPENAPI,
        r##"{"$ref":"#/gone","type":"string","enum":["a"]}"##,
        r#"{"type":"string","enum":["a"]}"#,
        "$ref",
    ),
    (OPENAPI, r##"{"$ref":"#node","description":"d"}"##, r#"{"description":"d","type":"object"}"#, "$ref"),
    // Several types, each with what is said of it alone.
    (
        OPENAPI,
        r#"{"type":["array","string"],"items":{"type":"integer"}}"#,
        r#"{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"string"}]}"#,
        "type",
    ),
    (
        OPENAPI,
        r#"{"type":["object","string"],"properties":{"a":{"type":"string"}},"required":["a"]}"#,
        r#"{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"string"}]}"#,
        "type",
    ),
    // A reference beside a choice and what else has to hold.
    (
        JSON,
        r##"{"$defs":{"R":{"type":"object"}},"$ref":"#/$defs/R","anyOf":[{"type":"object"}],"allOf":[{"required":["x"]}]}"##,
        r##"{"$defs":{"R":{"type":"object"}},"anyOf":[{"type":"object"}],"required":["x"],"type":"object"}"##,
        "$ref allOf",
    ),
    // What an older draft said of a property alone.
    (JSON, r#"{"type":"string","required":true}"#, r#"{"type":"string"}"#, "required"),
    // Names of properties are no keywords.
    (
        JSON,
        r#"{"type":"object","properties":{"pattern":{"type":"string","minLength":1},"$ref":{"const":"a"},"enum":{"type":"string"},"default":{"type":"number"}},"required":["pattern"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"pattern":{"type":"string","description":"(minLength 1)"},"$ref":{"enum":["a"]},"enum":{"type":"string"},"default":{"type":"number"}},"required":["pattern"],"additionalProperties":false}"#,
        "const minLength",
    ),
    // What is left out stands in the description, behind what is there already.
    (
        JSON,
        r#"{"type":"string","description":"A \"name\".","pattern":"^[a-z]+$","format":"uri","default":"x"}"#,
        r#"{"type":"string","description":"A \"name\". (pattern ^[a-z]+$) (default x)","format":"uri"}"#,
        "default pattern",
    ),
    (
        OPENAPI,
        r#"{"type":"string","description":"Where.","format":"uri","default":"x"}"#,
        r#"{"type":"string","description":"Where. (format uri)","default":"x"}"#,
        "format",
    ),
    // Null in every way in which it can be said.
    (
        OPENAPI,
        r#"{"properties":{"a":{"anyOf":[{"type":"string","maxLength":3},{"type":"null"}],"description":"d"},"b":{"anyOf":[{"type":"string"},{"type":"integer"},{"const":null}]},"c":{"enum":["x",null]},"d":{"type":"null"},"e":{"type":["string","integer","null"]}}}"#,
        r#"{"type":"object","properties":{"a":{"description":"d","nullable":true,"type":"string","maxLength":3},"b":{"anyOf":[{"type":"string"},{"type":"integer"}],"nullable":true},"c":{"type":"string","enum":["x"],"nullable":true},"d":{"nullable":true},"e":{"anyOf":[{"type":"string"},{"type":"integer"}],"nullable":true}}}"#,
        "anyOf enum type",
    ),
    // Several that hold at once.
    (
        JSON,
        r#"{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer","minimum":1},"a":{"description":"x"}},"required":["b","a"]}]}"#,
        r#"{"type":"object","properties":{"a":{"type":"string","description":"x"},"b":{"type":"integer","minimum":1}},"required":["a","b"]}"#,
        "allOf required",
    ),
    // A reference with something beside it, in the old place.
    (
        JSON,
        r##"{"type":"object","definitions":{"P":{"type":"string"}},"properties":{"p":{"$ref":"#/definitions/P","description":"d"},"q":{"allOf":[{"$ref":"#/definitions/P"}],"description":"e"},"r":{"$ref":"#/definitions/P"}}}"##,
        r##"{"type":"object","properties":{"p":{"description":"d","anyOf":[{"$ref":"#/$defs/P"}]},"q":{"description":"e","anyOf":[{"$ref":"#/$defs/P"}]},"r":{"$ref":"#/$defs/P"}},"$defs":{"P":{"type":"string"}}}"##,
        "$ref allOf definitions",
    ),
    // Going in circles.
    (
        OPENAPI,
        r##"{"type":"object","properties":{"tree":{"$ref":"#/$defs/T"}},"$defs":{"T":{"type":"object","description":"A node.","properties":{"left":{"$ref":"#/$defs/T","description":"Down."}}}}}"##,
        r#"{"type":"object","properties":{"tree":{"type":"object","description":"A node.","properties":{"left":{"type":"object","description":"Down."}}}}}"#,
        "$defs $ref",
    ),
    (
        JSON,
        r##"{"$defs":{"T":{"properties":{"left":{"$ref":"#/$defs/T"}}}},"$ref":"#/$defs/T"}"##,
        r##"{"$defs":{"T":{"properties":{"left":{"$ref":"#/$defs/T"}}}},"$ref":"#/$defs/T"}"##,
        "",
    ),
    (OPENAPI, r##"{"$ref":"#"}"##, r#"{"type":"object"}"#, "$ref"),
    (
        OPENAPI,
        r##"{"$ref":"https://example.com/x","description":"far"}"##,
        r#"{"type":"object","description":"far"}"#,
        "$ref",
    ),
    // Limits that a value must not reach, numbers in quotes.
    (
        JSON,
        r#"{"type":"number","exclusiveMinimum":0.5,"maximum":"9"}"#,
        r#"{"type":"number","maximum":9,"minimum":0.5,"description":"(exclusiveMinimum 0.5)"}"#,
        "exclusiveMinimum maximum",
    ),
    (
        OPENAPI,
        r#"{"type":"integer","minimum":3,"exclusiveMinimum":true,"exclusiveMaximum":"10","maximum":5}"#,
        r#"{"type":"integer","minimum":4,"maximum":5}"#,
        "exclusiveMaximum exclusiveMinimum",
    ),
    // Schemas that are no objects, and tuples of an older draft.
    (
        JSON,
        r#"{"properties":{"any":true,"none":false,"t":{"items":[{"type":"string"}],"additionalItems":false}}}"#,
        r#"{"properties":{"any":{},"none":{},"t":{"prefixItems":[{"type":"string"}]}}}"#,
        "additionalItems false items true",
    ),
    // Conditions are told where they are short.
    (
        JSON,
        r#"{"type":"object","properties":{"a":{"type":"string"}},"not":{"required":["b"]},"patternProperties":{"^x":{"type":"string"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string"}},"description":"(not {\"required\":[\"b\"]}) (patternProperties {\"^x\":{\"type\":\"string\"}})"}"#,
        "not patternProperties",
    ),
    (
        OPENAPI,
        r#"{"const":true}"#,
        r#"{"type":"boolean","description":"Allowed values: true."}"#,
        "const enum",
    ),
    (JSON, "[1]", "{}", "false"),
    (JSON, "{", "{", ""),
];

#[test]
fn hard_schemas() {
    for (dialect, given, wanted, named) in CASES {
        let fitted = fit(given, *dialect);
        if let Ok(found) = serde_json::from_str::<Value>(&fitted.schema) {
            let wanted: Value = serde_json::from_str(wanted).unwrap();
            assert_eq!(found, wanted, "{dialect:?} of {given}\n{}", fitted.schema);
        } else {
            assert_eq!(fitted.schema, *wanted);
        }
        let found: Vec<&str> = fitted.changed.iter().map(String::as_str).collect();
        assert_eq!(found.join(" "), *named, "{dialect:?} of {given}");
        let again = fit(&fitted.schema, *dialect);
        assert_eq!(
            (again.schema.as_ref(), again.changed.len()),
            (fitted.schema.as_ref(), 0),
            "twice is once"
        );
    }
}

/// References that double on every step would fill any memory.
#[test]
fn references_cannot_grow_without_end() {
    let mut schema = String::from(r#"{"$defs":{"#);
    for at in 0..60 {
        let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, at + 1);
        schema.push_str(&format!(r#""d{at}":{{"type":"object","properties":{{"a":{next},"b":{next}}}}},"#));
    }
    schema.push_str(r##""d60":{"type":"string"}},"$ref":"#/$defs/d0"}"##);
    let fitted = fit(&schema, OPENAPI);
    assert!(fitted.schema.len() < 1 << 20, "{}", fitted.schema.len());
    assert!(fitted.changed.contains("$ref"));
}

#[test]
fn a_remark_names_sixteen() {
    let many: Vec<String> = (10..40).map(|at| format!(r#""x{at}":1"#)).collect();
    let schema = format!("{{{}}}", many.join(","));
    let note = fit(&schema, JSON).note("/tools/t").unwrap();
    assert!(note.action.ends_with("x24, x25, 14 more"), "{}", note.action);
    assert!(fit("{}", JSON).note("/tools/t").is_none());
}
