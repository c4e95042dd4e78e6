//! Errors of the library on their way to JavaScript, where their classes are written.

use napi::Status;
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use omniroute::Error;
use omniroute::error::CODES;

/// Code, class and meaning of an error.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct Code {
    /// What programs compare.
    pub code: &'static str,
    /// The class that is raised for it.
    pub class: &'static str,
    /// One line for people.
    pub summary: &'static str,
}

/// Every error there is.
#[napi]
pub fn codes() -> Vec<Code> {
    CODES.iter().map(|row| Code { code: row.code, class: row.class, summary: row.summary }).collect()
}

/// The wire of the API behind the path of a URL.
#[napi]
pub fn wire_of_path(path: String) -> Option<&'static str> {
    omniroute::wire_of_path(&path)
}

/// The member of a request in which a wire keeps its messages.
#[napi]
pub fn list_member(wire: Option<String>) -> &'static str {
    omniroute::list_member(wire.as_deref())
}

/// An error whose message is a JSON object with everything the class in JavaScript is made from.
pub(crate) fn raised(error: &Error) -> napi::Error {
    napi::Error::new(Status::GenericFailure, facts(error).to_string())
}

/// What the class in JavaScript is made from. The receipt is JSON text inside of the JSON.
pub(crate) fn facts(error: &Error) -> serde_json::Value {
    serde_json::json!({
        "code": error.code(),
        "class": error.class(),
        "message": error.to_string(),
        "mistakes": error.mistakes(),
        "facts": error.facts(),
    })
}

/// An error as a client of a wire reads it.
#[napi]
pub fn error_body(wire: String, status: u16, code: String, message: String) -> Buffer {
    omniroute::error_body(&wire, status, &code, &message).to_vec().into()
}

/// TOML as JSON text.
#[napi]
pub fn toml_json(text: String) -> napi::Result<String> {
    let value: serde_json::Value =
        toml::from_str(&text).map_err(|error| raised(&Error::new("bad_argument", error.to_string())))?;
    Ok(value.to_string())
}
