//! The description of everything for machines: OpenAPI 3.1, made of the rows.

use futures::FutureExt;
use serde_json::{Map, Value, json};

use super::{Effect, Field, Op, Place, Run, Takes, Type, Verb, ops, shapes};

/// The rows.
pub(super) const OPS: &[Op] = &[Op {
    name: "openapi",
    summary: "This description",
    scopes: &[],
    effect: Effect::Read,
    method: Verb::Get,
    path: "/api/openapi.json",
    takes: Takes::Nothing,
    fields: &[],
    run: Run::Value(|_, _, _| async { Ok(document()) }.boxed()),
}];

fn schema(kind: Type) -> Value {
    match kind {
        Type::Text => json!({ "type": "string" }),
        Type::Integer => json!({ "type": "integer" }),
        Type::Flag => json!({ "type": "boolean" }),
        Type::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Type::Object => json!({ "type": "object" }),
        Type::Objects => json!({ "type": "array", "items": { "type": "object" } }),
    }
}

fn parameter(field: &Field) -> Value {
    let place = if field.place == Place::Path { "path" } else { "query" };
    let mut out = json!({
        "name": field.name, "in": place, "required": field.needed, "description": field.about,
        "schema": schema(field.kind),
    });
    if field.kind == Type::Texts {
        out["explode"] = json!(false);
    }
    out
}

fn body(op: &Op) -> Option<Value> {
    let schema = match op.takes {
        Takes::Nothing => return None,
        Takes::Request => shapes::request(op),
        Takes::Upload => {
            let content = json!({ "multipart/form-data": { "schema": { "type": "object" } } });
            return Some(json!({ "required": true, "content": content }));
        }
        Takes::Fields => {
            let fields = op.fields.iter().filter(|field| field.place == Place::Body);
            let mut properties = Map::new();
            let mut needed = Vec::new();
            for field in fields {
                let mut property = schema(field.kind);
                if !field.needed {
                    // Null is as good as nothing.
                    property["type"] = json!([property["type"], "null"]);
                }
                property["description"] = json!(field.about);
                properties.insert(field.name.to_owned(), property);
                if field.needed {
                    needed.push(field.name);
                }
            }
            let mut schema =
                json!({ "type": "object", "properties": properties, "additionalProperties": false });
            if !needed.is_empty() {
                schema["required"] = json!(needed);
            }
            schema
        }
    };
    let mut media = json!({ "schema": schema });
    shapes::with_example(op, &mut media);
    Some(json!({ "required": op.takes == Takes::Request, "content": { "application/json": media } }))
}

fn operation(op: &Op) -> Value {
    let parameters: Vec<Value> =
        op.fields.iter().filter(|field| field.place != Place::Body).map(parameter).collect();
    let security: Vec<Value> =
        if op.open() { vec![json!({})] } else { vec![json!({ "key": [] }), json!({})] };
    let scopes: Vec<Vec<&str>> =
        op.scopes.iter().map(|set| set.iter().map(|scope| scope.name()).collect()).collect();
    let mut out = json!({
        "operationId": op.name, "summary": op.summary, "parameters": parameters, "security": security,
        "x-scopes": scopes, "x-effect": format!("{:?}", op.effect).to_ascii_lowercase(),
        "responses": shapes::responses(op),
    });
    if let Some(body) = body(op) {
        out["requestBody"] = body;
    }
    out
}

/// The whole document.
fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for op in ops() {
        let path = op.path.replace("{*", "{");
        let method = op.method.name().to_ascii_lowercase();
        let entry = paths.entry(path).or_insert_with(|| json!({}));
        entry[method] = operation(op);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "omniroute", "version": env!("CARGO_PKG_VERSION"),
            "description": "Models behind one address, and a look at how they are chosen.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": { "key": { "type": "http", "scheme": "bearer" } },
            "schemas": shapes::refusals(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_absent_may_be_null() {
        let document = document();
        let body =
            |path: &str| &document["paths"][path]["post"]["requestBody"]["content"]["application/json"];
        let of = |path: &str, name: &str| body(path)["schema"]["properties"][name]["type"].clone();
        assert_eq!(of("/api/routing/explain", "body"), json!(["object", "null"]));
        assert_eq!(of("/api/v1/session-leases", "action"), json!("string"));
    }

    #[test]
    fn every_row_is_described_and_nothing_else() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        let described: usize = paths.values().map(|methods| methods.as_object().unwrap().len()).sum();
        assert_eq!(described, ops().count());
        for op in ops() {
            let path = op.path.replace("{*", "{");
            let method = op.method.name().to_ascii_lowercase();
            assert_eq!(paths[&path][&method]["operationId"], op.name);
        }
    }
}
