//! AWS signature version 4 over a finished request.

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use http::{Request, Uri};
use omniroute_core::UnixMs;
use sha2::{Digest, Sha256};

use crate::classify::date_of;
use crate::credentials::AwsKeys;

const BLOCK: usize = 64;

/// Adds the headers that sign a request. Everything that is in the request now is signed but for hop-by-hop headers.
pub(crate) fn sign(
    request: &mut Request<Bytes>,
    keys: &AwsKeys,
    region: &str,
    service: &str,
    now: UnixMs,
) -> Result<(), &'static str> {
    let (day, second) = stamps(now);
    let host = request.uri().authority().map(|a| a.as_str().to_owned()).ok_or("the address has no host")?;
    let secret_value = |text: &str| {
        let mut value =
            HeaderValue::try_from(text).map_err(|_| "a key has characters that a header cannot carry")?;
        value.set_sensitive(true);
        Ok::<_, &'static str>(value)
    };
    let stamp = HeaderValue::try_from(second.as_str()).map_err(|_| "no date")?;
    request.headers_mut().insert(HeaderName::from_static("x-amz-date"), stamp);
    if let Some(token) = &keys.session_token {
        let value = secret_value(token.expose())?;
        request.headers_mut().insert(HeaderName::from_static("x-amz-security-token"), value);
    }
    let mut headers = vec![("host".to_owned(), host)];
    for name in ["content-type", "x-amz-date", "x-amz-security-token"] {
        if let Some(value) = request.headers().get(name).and_then(|value| value.to_str().ok()) {
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    headers.sort();
    let names = headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let canonical = format!(
        "{}\n{}\n{}\n{lines}\n{names}\n{}",
        request.method(),
        canonical_path(request.uri()),
        canonical_query(request.uri()),
        hex(&Sha256::digest(request.body())),
    );
    let scope = format!("{day}/{region}/{service}/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n{second}\n{scope}\n{}", hex(&Sha256::digest(canonical.as_bytes())));
    let first = format!("AWS4{}", keys.secret_key.expose());
    let key = [day.as_bytes(), region.as_bytes(), service.as_bytes(), b"aws4_request"]
        .into_iter()
        .fold(first.into_bytes(), |key, part| hmac(&key, part).to_vec());
    let signature = hex(&hmac(&key, text.as_bytes()));
    let id = keys.access_key.expose();
    let value =
        format!("AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}");
    request.headers_mut().insert(AUTHORIZATION, secret_value(&value)?);
    Ok(())
}

/// `20150830` and `20150830T123600Z`.
fn stamps(now: UnixMs) -> (String, String) {
    let seconds = now.0.div_euclid(1_000);
    let (year, month, date) = date_of(seconds.div_euclid(86_400));
    let of_day = seconds.rem_euclid(86_400);
    let day = format!("{year:04}{month:02}{date:02}");
    let second = format!("{day}T{:02}{:02}{:02}Z", of_day / 3_600, of_day / 60 % 60, of_day % 60);
    (day, second)
}

/// The path as it is sent, encoded once more, as all services but one ask for.
fn canonical_path(uri: &Uri) -> String {
    let path = if uri.path().is_empty() { "/" } else { uri.path() };
    path.split('/').map(crate::redact::percent).collect::<Vec<_>>().join("/")
}

fn canonical_query(uri: &Uri) -> String {
    let mut pairs: Vec<&str> = uri.query().unwrap_or("").split('&').filter(|pair| !pair.is_empty()).collect();
    pairs.sort_unstable();
    let whole = |pair: &str| if pair.contains('=') { pair.to_owned() } else { format!("{pair}=") };
    pairs.into_iter().map(whole).collect::<Vec<_>>().join("&")
}

fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut block = [0u8; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new().chain_update(block.map(|b| b ^ 0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(block.map(|b| b ^ 0x5c)).chain_update(inner).finalize().into()
}

fn hex(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|b| [HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]]).map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepare::{KeyOrigin, Secret};

    #[test]
    fn the_published_examples_come_out() {
        let keys = AwsKeys {
            access_key: Secret::new("AKIDEXAMPLE"),
            secret_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token: None,
            origin: KeyOrigin::Connection,
        };
        let now = UnixMs(1_440_938_160_000);
        let mut request = Request::get("https://example.amazonaws.com/").body(Bytes::new()).unwrap();
        sign(&mut request, &keys, "us-east-1", "service", now).unwrap();
        let value = request.headers()[AUTHORIZATION].to_str().unwrap();
        let wanted = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                      SignedHeaders=host;x-amz-date, \
                      Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
        assert_eq!(value, wanted);
        assert!(!format!("{request:?}").contains("AKIDEXAMPLE"));
        // RFC 4231, case 2.
        let mac = hex(&hmac(b"Jefe", b"what do ya want for nothing?"));
        assert_eq!(mac, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn a_path_is_encoded_twice() {
        let uri: Uri = "https://h.example/model/a.b-v1%3A0/converse".parse().unwrap();
        assert_eq!(canonical_path(&uri), "/model/a.b-v1%253A0/converse");
        let uri: Uri = "https://h.example/?b=2&a".parse().unwrap();
        assert_eq!(canonical_query(&uri), "a=&b=2");
    }
}
