//! Who may speak to us at all: names we answer to, pages that may call, nothing secret in an address.

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, Method, Uri};

use super::fault::Fault;
pub(super) use crate::config::net::is_loopback;

/// Longest address.
const URI: usize = 8 << 10;
/// Longest head, names and values together.
const HEAD: usize = 32 << 10;

/// What the operator allows beside loopback.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard {
    /// Names, or names with a port.
    pub(super) hosts: Vec<String>,
    /// Origins that may call `/v1`; `*` for all.
    pub(super) origins: Vec<String>,
    /// The same origins, `*` excepted, may call what is not `/v1`.
    pub(super) management: bool,
}

/// What a request that may pass carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Page {
    /// No page of a browser, or one of our own.
    Own,
    /// A page of an allowed origin.
    Other(String),
}

impl Guard {
    /// Checks a request before anything else is done with it.
    ///
    /// # Errors
    /// What it may not do.
    pub(super) fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Page, Fault> {
        if uri.to_string().len() > URI {
            return Err(Fault::new(414, "uri_too_long", format!("the address is longer than {URI} bytes")));
        }
        let head: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
        if head > HEAD {
            return Err(Fault::new(
                431,
                "headers_too_long",
                format!("the headers are longer than {HEAD} bytes"),
            ));
        }
        let host = self.host(uri, headers)?;
        if key_in_query(uri.query().unwrap_or_default()) {
            let message =
                "keys are not read from addresses, which end in logs; send the header authorization: Bearer";
            return Err(Fault::bad("key_in_query", message));
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let refused = |what: &str| {
            let message = format!("{what}; gateway.cors.origins lists who may call from a browser");
            Fault::new(403, "origin_not_allowed", message)
        };
        let page = match (origins.next(), origins.next()) {
            (None, _) => Page::Own,
            (Some(_), Some(_)) => return Err(refused("the request names two origins")),
            (Some(origin), None) => {
                let origin = origin.to_str().unwrap_or_default();
                if origin.split_once("://").is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(host)) {
                    Page::Own
                } else if self.allows(origin, uri.path()) {
                    Page::Other(origin.to_owned())
                } else if method == Method::OPTIONS {
                    Page::Own // answered without a word that would let it through
                } else {
                    return Err(refused("this origin may not call"));
                }
            }
        };
        let cross = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
        let changes = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        if cross && changes && !matches!(page, Page::Other(_)) {
            return Err(refused("a page of another site may not call"));
        }
        Ok(page)
    }

    /// The name the client called, if we answer to it.
    fn host<'h>(&self, uri: &'h Uri, headers: &'h HeaderMap) -> Result<&'h str, Fault> {
        let mut named = headers.get_all(HOST).iter();
        let host = match (named.next(), named.next(), uri.authority()) {
            (Some(host), None, _) => host.to_str().unwrap_or_default(),
            (None, _, Some(authority)) => authority.as_str(),
            _ => "",
        };
        let name = without_port(host);
        let listed =
            |allowed: &String| allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(name);
        if is_loopback(name) || (!name.is_empty() && self.hosts.iter().any(listed)) {
            return Ok(host);
        }
        let message = "this name is not ours; gateway.allowed_hosts lists names beside loopback";
        Err(Fault::new(421, "host_not_allowed", message))
    }

    fn allows(&self, origin: &str, path: &str) -> bool {
        let inference =
            path.starts_with("/v1/") || path.starts_with("/v1beta/") || path.starts_with("/api/v1/");
        let listed = self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin));
        if inference && !path.contains("session-leases") {
            // A page without an origin of its own has to be listed by that very word.
            return listed || (origin != "null" && self.origins.iter().any(|known| known == "*"));
        }
        self.management && listed && origin != "*"
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() => name,
        _ => host,
    }
}

fn key_in_query(query: &str) -> bool {
    const NAMES: [&str; 5] = ["api_key", "apikey", "api-key", "access_token", "key"];
    query.split('&').any(|pair| {
        let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
        NAMES.contains(&name.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        guard: &Guard,
        method: Method,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Page, u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        guard.check(&method, &path.parse().unwrap(), &map).map_err(|fault| fault.status)
    }

    #[test]
    fn only_our_own_names_are_answered_to() {
        let guard =
            Guard { hosts: vec!["box.lan".to_owned(), "other.lan:8080".to_owned()], ..Guard::default() };
        for host in [
            "localhost",
            "localhost:20128",
            "127.0.0.1:20128",
            "127.9.9.9",
            "[::1]:20128",
            "[::1]",
            "a.localhost",
            "LOCALHOST.",
            "box.lan",
            "box.lan:99",
            "other.lan:8080",
        ] {
            assert_eq!(check(&guard, Method::GET, "/v1/models", &[("host", host)]), Ok(Page::Own), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "",
            "other.lan",
            "10.0.0.1",
            "[::2]",
            "::1",
            "localhost:20128:1",
            "notlocalhost",
            "0.0.0.0",
        ] {
            assert_eq!(check(&guard, Method::GET, "/v1/models", &[("host", host)]), Err(421), "{host}");
        }
        assert_eq!(
            check(&guard, Method::GET, "/", &[("host", "localhost"), ("host", "evil.example")]),
            Err(421)
        );
    }

    #[test]
    fn pages_of_others_do_not_call() {
        let shut = Guard::default();
        let open =
            Guard { origins: vec!["https://app.example".to_owned()], management: true, ..Guard::default() };
        let wide = Guard { origins: vec!["*".to_owned()], management: true, ..Guard::default() };
        let call = |guard: &Guard, method: Method, path: &str, origin: &str| {
            check(guard, method, path, &[("host", "localhost:1"), ("origin", origin)])
        };
        let other = || Ok(Page::Other("https://app.example".to_owned()));
        assert_eq!(call(&shut, Method::POST, "/v1/chat/completions", "https://app.example"), Err(403));
        assert_eq!(call(&shut, Method::GET, "/api/combos", "null"), Err(403));
        assert_eq!(call(&shut, Method::OPTIONS, "/api/combos", "https://app.example"), Ok(Page::Own));
        assert_eq!(call(&shut, Method::POST, "/api/combos", "http://localhost:1"), Ok(Page::Own));
        assert_eq!(call(&shut, Method::POST, "/api/combos", "http://localhost:2"), Err(403));
        assert_eq!(call(&open, Method::POST, "/v1/chat/completions", "https://app.example"), other());
        assert_eq!(call(&open, Method::POST, "/api/combos", "https://app.example"), other());
        assert_eq!(call(&wide, Method::POST, "/v1/chat/completions", "https://app.example"), other());
        assert_eq!(call(&wide, Method::POST, "/v1/chat/completions", "null"), Err(403));
        assert_eq!(call(&wide, Method::POST, "/api/combos", "https://app.example"), Err(403));
        let cross = [("host", "localhost"), ("sec-fetch-site", "cross-site")];
        assert_eq!(check(&shut, Method::POST, "/v1/messages", &cross), Err(403));
        assert_eq!(check(&shut, Method::GET, "/v1/models", &cross), Ok(Page::Own));
    }

    #[test]
    fn keys_in_addresses_are_refused() {
        for query in ["api_key=x", "a=b&KEY=x", "access_token=", "key"] {
            let path = format!("/v1beta/models?{query}");
            assert_eq!(
                check(&Guard::default(), Method::GET, &path, &[("host", "localhost")]),
                Err(400),
                "{query}"
            );
        }
        assert_eq!(
            check(&Guard::default(), Method::GET, "/v1/models?keys=1", &[("host", "localhost")]),
            Ok(Page::Own)
        );
    }
}
