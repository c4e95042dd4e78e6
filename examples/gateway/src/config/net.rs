//! Addresses: which are this machine, which are private, which may be called.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What is wrong with a base URL; none: it may be called.
pub(crate) fn base_url(url: &str, private: bool) -> Option<String> {
    let rest = url.strip_prefix("https://").map(|rest| (rest, true));
    let Some((rest, sealed)) = rest.or_else(|| url.strip_prefix("http://").map(|rest| (rest, false))) else {
        return Some("the base URL begins with neither https:// nor http://".to_owned());
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some("the base URL has a name or password in it; use key".to_owned());
    }
    if rest.contains(['?', '#']) || rest.contains(char::is_whitespace) || rest.contains(char::is_control) {
        return Some("the base URL has more than scheme, host, port and path".to_owned());
    }
    let (host, port) = split(authority);
    if host.is_empty() || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Some("the base URL has no host, or a port that is no number".to_owned());
    }
    if is_loopback(host) {
        return None;
    }
    if !sealed {
        return Some("plain http goes to this machine only; others need https".to_owned());
    }
    (is_private(host) && !private)
        .then(|| format!("{host:?} is in a private network, which needs allow_private = true"))
}

/// Whether two addresses are the same scheme, host and port.
pub(crate) fn same_origin(one: &str, other: &str) -> bool {
    let origin = |url: &str| {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
        let (host, port) = split(&authority);
        let usual = if scheme == "http" { "80" } else { "443" };
        (scheme.to_ascii_lowercase(), host.to_owned(), port.unwrap_or(usual).to_owned())
    };
    origin(one) == origin(other)
}

/// An address on this machine.
pub(crate) fn is_loopback_url(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    is_loopback(split(rest.split('/').next().unwrap_or_default()).0)
}

/// Host and port that a URL means.
pub(crate) fn host_port(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let (host, port) = split(rest.split('/').next()?);
    let port = match port {
        Some(port) => port.parse().ok()?,
        None => {
            if scheme == "http" {
                80
            } else {
                443
            }
        }
    };
    Some((host.to_owned(), port))
}

/// Host and port; brackets of IPv6 are taken off.
fn split(authority: &str) -> (&str, Option<&str>) {
    if let Some((host, rest)) = authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (host, rest.strip_prefix(':'));
    }
    match authority.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => (host, Some(port)),
        _ => (authority, None),
    }
}

/// A name that only this machine has.
pub(crate) fn is_loopback(name: &str) -> bool {
    let bare = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    if bare == "localhost" || bare.ends_with(".localhost") {
        return true;
    }
    let bare = bare.strip_prefix('[').and_then(|bare| bare.strip_suffix(']')).unwrap_or(&bare);
    bare.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
        || bare.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback())
}

/// A host in a network that is nobody else's business.
fn is_private(host: &str) -> bool {
    let v4 = |ip: Ipv4Addr| {
        let [a, b, ..] = ip.octets();
        ip.is_private()
            || ip.is_link_local()
            || ip.is_unspecified()
            || ip.is_multicast()
            || (a == 100 && (64..128).contains(&b))
    };
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => v4(ip),
        Ok(IpAddr::V6(ip)) => {
            let first = ip.segments()[0];
            let unique = first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfe80;
            unique
                || ip.is_unspecified()
                || ip.is_multicast()
                || ip.to_ipv4_mapped().is_some_and(|ip| v4(ip) || ip.is_loopback())
        }
        Err(_) => {
            let host = host.trim_end_matches('.').to_ascii_lowercase();
            !host.contains('.')
                || [".local", ".internal", ".lan", ".home.arpa"].iter().any(|end| host.ends_with(end))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_called() {
        for url in
            ["https://api.openai.com/v1", "http://127.0.0.1:8080/v1", "http://localhost", "http://[::1]:1/v1"]
        {
            assert_eq!(base_url(url, false), None, "{url}");
        }
        for url in [
            "",
            "ftp://x.example",
            "http://api.openai.com/v1",
            "https://",
            "https://user:pw@x.example",
            "https://x.example:port/",
            "https://x.example/v1?key=1",
            "https://10.0.0.1/v1",
            "https://169.254.169.254/",
            "https://100.64.0.1/",
            "https://[fe80::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://box/v1",
            "https://box.internal/v1",
        ] {
            assert!(base_url(url, false).is_some(), "{url}");
        }
        assert_eq!(base_url("https://10.0.0.1/v1", true), None);
        assert!(base_url("http://10.0.0.1/v1", true).is_some());
    }

    #[test]
    fn origins_are_compared_with_their_usual_ports() {
        assert!(same_origin("https://a.example/v1", "https://A.example:443/v2"));
        assert!(!same_origin("https://a.example/v1", "https://a.example.evil/v1"));
        assert!(!same_origin("https://a.example", "http://a.example"));
    }
}
