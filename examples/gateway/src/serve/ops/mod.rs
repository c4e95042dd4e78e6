//! Everything that can be asked of the gateway, one row each. Routes, the description for machines, and the reference
//! page are made of these rows.

mod compression;
mod events;
mod health;
mod inference;
mod insight;
mod leases;
mod lists;
mod openapi;
mod shapes;

use std::sync::Arc;

use axum::response::Response;
use axum::routing::MethodFilter;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::request::Parts;
use serde_json::{Map, Value};

use super::fault::Fault;
use super::gateway::Gateway;
use super::keys::{Caller, Need};

/// Longest body that is no request for a model.
const SMALL: usize = 1 << 20;

/// What calling it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Read,
    Write,
    /// Asks vendors.
    External,
}

/// What a field of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    Integer,
    Flag,
    Texts,
    Object,
    Objects,
}

/// Where a field stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
    Body,
}

/// A field of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) place: Place,
    pub(super) kind: Type,
    pub(super) needed: bool,
    pub(super) about: &'static str,
}

/// One call with everything that belongs to it.
pub(super) struct Ask {
    pub(super) gateway: Arc<Gateway>,
    pub(super) caller: Caller,
    pub(super) head: Parts,
    pub(super) body: Bytes,
    /// What the path names, in order.
    pub(super) path: Vec<String>,
}

type Values = fn(Arc<Gateway>, Caller, Map<String, Value>) -> BoxFuture<'static, Result<Value, Fault>>;
type Whole = fn(Ask) -> BoxFuture<'static, Result<Response, Fault>>;

/// How it is carried out.
#[derive(Clone, Copy)]
pub(super) enum Run {
    /// Fields in, a value out.
    Value(Values),
    /// The request as it is, an answer as it is.
    Whole(Whole),
}

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Post,
}

impl Verb {
    /// As HTTP writes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
        }
    }

    /// As axum reads it.
    pub(super) fn filter(self) -> MethodFilter {
        match self {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
        }
    }
}

/// Which body it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// None.
    Nothing,
    /// JSON with these fields, at most 1 MiB.
    Fields,
    /// A request for a model, as long as the operator allows.
    Request,
    /// The same, of any type.
    Upload,
}

/// One row.
#[derive(Clone, Copy)]
pub(super) struct Op {
    pub(super) name: &'static str,
    pub(super) summary: &'static str,
    /// Any of these sets of scopes; empty: anybody.
    pub(super) scopes: Need,
    pub(super) effect: Effect,
    pub(super) method: Verb,
    /// As axum writes it.
    pub(super) path: &'static str,
    pub(super) takes: Takes,
    pub(super) fields: &'static [Field],
    pub(super) run: Run,
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Op").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Every row.
pub(super) fn ops() -> impl Iterator<Item = &'static Op> {
    [
        inference::OPS,
        health::OPS,
        lists::OPS,
        insight::OPS,
        compression::OPS,
        leases::OPS,
        events::OPS,
        openapi::OPS,
    ]
    .into_iter()
    .flatten()
}

/// A refusal in the words of an operation that has its own.
pub(super) fn refused(op: &Op, fault: Fault) -> Fault {
    if op.name == "lease" { leases::refused(fault) } else { fault }
}

impl Op {
    /// Longest body, in bytes.
    pub(super) fn longest(&self, gateway: &Gateway) -> usize {
        match self.takes {
            Takes::Nothing => 0,
            // A preview takes whole requests.
            Takes::Fields if !self.name.starts_with("compress") && self.name != "route.explain" => SMALL,
            _ => gateway.limits.body,
        }
    }

    /// Whether it may be called without a key where keys are configured.
    pub(super) fn open(&self) -> bool {
        self.scopes.is_empty()
    }

    /// Path, query and body as one object, checked against the fields.
    ///
    /// # Errors
    /// The first field that is unknown, missing or of another type, with its place.
    pub(super) fn input(
        &self,
        path: &[String],
        query: &str,
        body: &Bytes,
    ) -> Result<Map<String, Value>, Fault> {
        let mut input = Map::new();
        let in_path = self.fields.iter().filter(|field| field.place == Place::Path);
        for (field, value) in in_path.zip(path) {
            input.insert(field.name.to_owned(), Value::String(value.clone()));
        }
        for (name, text) in form(query) {
            let field = self.field(&name, Place::Query)?;
            if input.insert(name.clone(), of_text(field, &text)?).is_some() {
                return Err(
                    Fault::bad("repeated_field", format!("{name} is given twice")).at(format!("/{name}"))
                );
            }
        }
        if self.takes == Takes::Fields && !body.trim_ascii().is_empty() {
            let doc = super::intake::doc(body.clone())?;
            let value: Value = serde_json::from_slice(doc.bytes())
                .map_err(|error| Fault::bad("invalid_json", format!("the body is no JSON: {error}")))?;
            let Value::Object(members) = value else {
                return Err(Fault::bad("invalid_request", "the body is no JSON object").at("/"));
            };
            for (name, value) in members {
                let field = self.field(&name, Place::Body)?;
                if value.is_null() && !field.needed {
                    continue;
                }
                if !fits(field.kind, &value) {
                    return Err(wrong(field));
                }
                input.insert(name, value);
            }
        }
        match self.fields.iter().find(|field| field.needed && !input.contains_key(field.name)) {
            Some(field) => {
                let rule = format!("{} is missing: {}", field.name, field.about);
                Err(Fault::bad("missing_field", rule).at(format!("/{}", field.name)))
            }
            None => Ok(input),
        }
    }

    fn field(&self, name: &str, place: Place) -> Result<&'static Field, Fault> {
        let here = self.fields.iter().filter(|field| field.place == place);
        if let Some(field) = here.clone().find(|field| field.name == name) {
            return Ok(field);
        }
        let names: Vec<&str> = here.map(|field| field.name).collect();
        let allowed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let name: String = name.chars().take(60).collect();
        Err(Fault::bad("unknown_field", format!("{name:?} is not known here; allowed: {allowed}"))
            .at(format!("/{name}")))
    }
}

fn fits(kind: Type, value: &Value) -> bool {
    match kind {
        Type::Text => value.is_string(),
        Type::Integer => value.is_i64() || value.is_u64(),
        Type::Flag => value.is_boolean(),
        Type::Texts => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
        Type::Object => value.is_object(),
        Type::Objects => value.as_array().is_some_and(|items| items.iter().all(Value::is_object)),
    }
}

fn of_text(field: &Field, text: &str) -> Result<Value, Fault> {
    let value = match field.kind {
        Type::Text => Some(Value::from(text)),
        Type::Integer => text.parse::<i64>().ok().map(Value::from),
        Type::Flag => text.parse::<bool>().ok().map(Value::from),
        Type::Texts => {
            Some(text.split(',').map(str::trim).filter(|one| !one.is_empty()).map(Value::from).collect())
        }
        Type::Object | Type::Objects => None,
    };
    value.ok_or_else(|| wrong(field))
}

fn wrong(field: &Field) -> Fault {
    let kind = match field.kind {
        Type::Text => "a text",
        Type::Integer => "a whole number",
        Type::Flag => "true or false",
        Type::Texts => "a list of texts",
        Type::Object => "an object",
        Type::Objects => "a list of objects",
    };
    let rule = format!("{} has to be {kind}: {}", field.name, field.about);
    Fault::bad("invalid_value", rule).at(format!("/{}", field.name))
}

/// Pairs of a query string, decoded.
pub(super) fn form(query: &str) -> impl Iterator<Item = (String, String)> + '_ {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " ")))
    })
}

/// A text without its percent signs; what is none stays.
pub(super) fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let code = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match code {
            Some(code) => {
                out.push(code);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Op = Op {
        name: "sample",
        summary: "",
        scopes: &[],
        effect: Effect::Read,
        method: Verb::Post,
        path: "/api/sample/{id}",
        takes: Takes::Fields,
        fields: &[
            Field { name: "id", place: Place::Path, kind: Type::Text, needed: true, about: "which" },
            Field {
                name: "limit",
                place: Place::Query,
                kind: Type::Integer,
                needed: false,
                about: "how many",
            },
            Field { name: "deep", place: Place::Body, kind: Type::Flag, needed: true, about: "how" },
        ],
        run: Run::Value(|_, _, _| Box::pin(async { Ok(Value::Null) })),
    };

    #[test]
    fn path_query_and_body_are_one_object() {
        let input = |query: &str, body: &'static str| {
            SAMPLE
                .input(&["a b".to_owned()], query, &Bytes::from_static(body.as_bytes()))
                .map_err(|fault| (fault.code, fault.param.unwrap_or_default()))
        };
        let told = input("limit=5", r#"{"deep": true}"#).unwrap();
        assert_eq!(Value::Object(told), serde_json::json!({"id": "a b", "limit": 5, "deep": true}));
        let err = |code: &str, at: &str| Err((code.to_owned(), at.to_owned()));
        assert_eq!(input("limit=x", "{}"), err("invalid_value", "/limit"));
        assert_eq!(input("limit=1&limit=2", "{}"), err("repeated_field", "/limit"));
        assert_eq!(input("limits=1", "{}"), err("unknown_field", "/limits"));
        assert_eq!(input("", r#"{"limit": 1}"#), err("unknown_field", "/limit"));
        assert_eq!(input("", r#"{"deep": 1}"#), err("invalid_value", "/deep"));
        assert_eq!(input("", ""), err("missing_field", "/deep"));
        assert_eq!(input("", "[]"), err("invalid_request", "/"));
        assert_eq!(input("", "{").unwrap_err().0, "invalid_json");
    }

    #[test]
    fn every_row_is_whole() {
        let mut names: Vec<&str> = ops().map(|op| op.name).collect();
        let mut routes: Vec<(&str, &str)> = ops().map(|op| (op.method.name(), op.path)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        routes.sort();
        routes.dedup();
        assert_eq!((names.len(), routes.len()), (count, count));
        for op in ops() {
            assert!(!op.summary.is_empty(), "{}", op.name);
            // Only these tell nothing that is worth a key.
            let open = ["health.alive", "health.get", "health.ready", "openapi"].contains(&op.name);
            assert_eq!(op.open(), open, "{}", op.name);
            let holes = op.path.matches('{').count();
            let named = op.fields.iter().filter(|field| field.place == Place::Path).count();
            assert_eq!(holes, named, "{}", op.name);
            assert!(op.effect == Effect::Read || op.method != Verb::Get, "{}", op.name);
        }
    }

    #[test]
    fn texts_of_addresses() {
        assert_eq!(decoded("a%2Fb%20c%zz%"), "a/b c%zz%");
        let pairs: Vec<_> = form("a=1+2&b&&c=%3D").collect();
        let owned = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(pairs, [owned("a", "1 2"), owned("b", ""), owned("c", "=")]);
    }
}
