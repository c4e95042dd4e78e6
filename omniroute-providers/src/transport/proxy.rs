//! Which calls go through a proxy, and through which.

use std::fmt;

use omniroute_core::TransportError;

use crate::prepare::{Secret, is_loopback};

/// Schemes of proxies that are understood.
const SCHEMES: [&str; 4] = ["http", "https", "socks5", "socks5h"];

/// How calls leave this machine.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Via {
    /// Through what `HTTPS_PROXY`, else `ALL_PROXY`, names, but for the hosts in `NO_PROXY`; straight if neither is
    /// set. Names in small letters count too. Read once, when the transport is made.
    #[default]
    Environment,
    /// Straight, whatever the environment says.
    Direct,
    /// Through this proxy.
    Proxy(ProxySpec),
}

/// A proxy. Where one is set, calls go through it or fail: they never go around it.
#[derive(Clone)]
pub struct ProxySpec {
    url: Secret,
    bypass: Vec<String>,
    loopback: bool,
}

impl ProxySpec {
    /// The proxy at this address: `http`, `https`, `socks5` or `socks5h`; without a scheme `http`. A user and a
    /// password in it are secrets.
    pub fn new(url: impl AsRef<str>) -> Self {
        ProxySpec { url: Secret::new(url), bypass: Vec::new(), loopback: false }
    }

    /// Hosts that are called straight, separated by commas: a name means itself and all below it, `*` means all.
    #[must_use]
    pub fn bypass(mut self, hosts: &str) -> Self {
        let hosts = hosts.split(',').map(|host| host.trim().trim_start_matches("*.").trim_start_matches('.'));
        self.bypass.extend(hosts.filter(|host| !host.is_empty()).map(str::to_ascii_lowercase));
        self
    }

    /// Calls of this machine go through the proxy too; default: they are made straight.
    #[must_use]
    pub fn even_loopback(mut self) -> Self {
        self.loopback = true;
        self
    }

    /// Whether a call of this host goes through the proxy.
    pub(super) fn takes(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let below = |name: &str| host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
        let named = |name: &String| *name == "*" || *name == host || below(name);
        !self.bypass.iter().any(named) && (self.loopback || !is_loopback(&host))
    }

    /// The address with its scheme.
    ///
    /// # Errors
    /// [`TransportError`] of phase `proxy` if the scheme is not known. The address is not shown.
    pub(super) fn address(&self) -> Result<String, TransportError> {
        let url = self.url.expose();
        let whole = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let known = whole.split_once("://").is_some_and(|(scheme, host)| {
            SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)) && !host.is_empty()
        });
        let rule = "the address of the proxy must start with http, https, socks5 or socks5h";
        if known { Ok(whole) } else { Err(TransportError::new("proxy", rule)) }
    }

    /// What must not show.
    pub(super) fn secrets(&self) -> Vec<Secret> {
        let url = self.url.expose();
        let authority = url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?', '#']).next();
        let user = authority.and_then(|authority| authority.rsplit_once('@')).map(|(user, _)| user);
        let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
        user.into_iter().chain(password).map(Secret::new).collect()
    }
}

impl fmt::Debug for ProxySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxySpec")
            .field("bypass", &self.bypass)
            .field("loopback", &self.loopback)
            .finish_non_exhaustive()
    }
}

impl Via {
    /// The proxy that is meant; `variable` looks names of the environment up.
    pub(super) fn resolve(self, variable: impl Fn(&str) -> Option<String>) -> Option<ProxySpec> {
        let first = |names: [&str; 2]| {
            let set = names.into_iter().filter_map(&variable);
            set.map(|value| value.trim().to_owned()).find(|value| !value.is_empty())
        };
        match self {
            Via::Direct => None,
            Via::Proxy(spec) => Some(spec),
            Via::Environment => {
                let url =
                    first(["HTTPS_PROXY", "https_proxy"]).or_else(|| first(["ALL_PROXY", "all_proxy"]))?;
                Some(ProxySpec::new(url).bypass(&first(["NO_PROXY", "no_proxy"]).unwrap_or_default()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_proxy() {
        let set = |name: &str| match name {
            "https_proxy" => Some("http://ann:pass-word-1@proxy.example:3128".to_owned()),
            "NO_PROXY" => Some("internal.example, .corp.example,10.0.0.1".to_owned()),
            _ => None,
        };
        let spec = Via::Environment.resolve(set).unwrap();
        for (host, through) in [
            ("api.openai.com", true),
            ("internal.example", false),
            ("a.internal.example", false),
            ("notinternal.example", true),
            ("x.corp.example", false),
            ("10.0.0.1", false),
            ("localhost", false),
            ("127.0.0.1", false),
            ("[::1]", false),
        ] {
            assert_eq!(spec.takes(host), through, "{host}");
        }
        assert!(spec.clone().even_loopback().takes("127.0.0.1"));
        assert!(!format!("{spec:?}").contains("pass-word"));
        assert_eq!(spec.secrets().len(), 2);
        let odd = ProxySpec::new("ann:p@ss-word-2@proxy.example/@").secrets();
        let odd: Vec<&str> = odd.iter().map(Secret::expose).collect();
        assert_eq!(odd, ["ann:p@ss-word-2", "p@ss-word-2"], "the last @ before the path ends them");
        assert!(Via::Environment.resolve(|_| Some(" ".to_owned())).is_none(), "white space is no address");
        assert!(Via::Direct.resolve(set).is_none());
        assert!(!ProxySpec::new("p.example:1").bypass("*").takes("api.openai.com"));
    }

    #[test]
    fn addresses_are_checked() {
        assert_eq!(ProxySpec::new("p.example:1").address().unwrap(), "http://p.example:1");
        assert_eq!(ProxySpec::new("SOCKS5H://p.example").address().unwrap(), "SOCKS5H://p.example");
        for url in ["ftp://secret@p.example", "http://", "socks4://p.example"] {
            let error = ProxySpec::new(url).address().unwrap_err();
            assert!(error.phase == "proxy" && !error.message.contains("p.example"), "{url}");
        }
    }
}
