//! Access control: checks the `Host` and `Origin` headers, and the token.

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use crate::call::observe::RejectionReason;

/// Browsers set this header, which says whether a request comes from a page of the same site. Pages cannot set it.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The rules that a request must satisfy before its message is read.
#[derive(Clone, Default)]
pub(super) struct Access {
    /// The `Host` names that are allowed in addition to those of this machine.
    pub(super) hosts: Vec<String>,
    pub(super) origins: Vec<String>,
    pub(super) any_host: bool,
    pub(super) tokens: Vec<String>,
}

/// The reason why a request is denied.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Denied {
    Host(String),
    Origin(String),
    /// A browser marked the request as coming from another site, without an origin.
    Site(String),
    NoToken,
    WrongToken,
}

impl Denied {
    /// The reason, and the header that was denied; never a token.
    pub(super) fn reason(&self) -> (RejectionReason, Option<&str>) {
        match self {
            Self::Host(host) => (RejectionReason::Host, Some(host)),
            Self::Origin(origin) => (RejectionReason::Origin, Some(origin)),
            Self::Site(_) => (RejectionReason::Origin, None),
            Self::NoToken => (RejectionReason::MissingToken, None),
            Self::WrongToken => (RejectionReason::WrongToken, None),
        }
    }
}

/// The origin as browsers send it: without a trailing slash. The error says what is wrong.
pub(crate) fn parse_origin(text: &str) -> Result<String, String> {
    let origin = text.strip_suffix('/').unwrap_or(text);
    if origin == "null" || is_browser_origin(origin) {
        return Ok(origin.to_owned());
    }
    Err(format!(
        "`{text}` is not an origin that browsers send; give the scheme and the host, such as `https://app.example.com`, \
         and the port if it is not the default, without a path or a wildcard"
    ))
}

/// Whether browsers may send this as an origin: a scheme, a host name, and a port if it is not the default one.
fn is_browser_origin(origin: &str) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let Ok(parsed) = Authority::try_from(authority) else { return false };
    let is_default = |port| matches!((&*scheme.to_ascii_lowercase(), port), ("http", 80) | ("https", 443));
    let has_valid_port =
        parsed.host().len() == authority.len() || parsed.port_u16().is_some_and(|port| !is_default(port));
    Scheme::try_from(scheme).is_ok() && !authority.contains(['@', '*']) && !parsed.host().is_empty() && has_valid_port
}

impl Access {
    /// Checks a request, except for its token. Returns the token, if the server has any.
    pub(super) fn check<'r>(&self, request: &'r Parts) -> Result<Option<&'r [u8]>, Denied> {
        self.check_host(request)?;
        self.check_origin(&request.headers)?;
        self.sent_token(&request.headers)
    }

    /// Prevents DNS rebinding: a page whose own host name resolves to this server. Such a page has no token.
    pub(super) fn check_host(&self, request: &Parts) -> Result<(), Denied> {
        if self.any_host || (self.hosts.is_empty() && !self.tokens.is_empty()) {
            return Ok(());
        }
        let mut named = request.headers.get_all(HOST).iter();
        let (host, second) = (named.next().map(HeaderValue::as_bytes), named.next());
        let target = request.uri.authority().map(|authority| authority.as_str().as_bytes());
        if second.is_some() || (host.is_none() && target.is_none()) {
            return Err(Denied::Host(String::new()));
        }
        let mut hosts = [host, target].into_iter().flatten();
        match hosts.find(|host| !std::str::from_utf8(host).is_ok_and(|host| self.is_host(host))) {
            Some(host) => Err(Denied::Host(String::from_utf8_lossy(host).into_owned())),
            None => Ok(()),
        }
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Denied> {
        let mut origins = headers.get_all(ORIGIN).iter().peekable();
        // Browsers load images and links without an origin.
        if origins.peek().is_none() {
            let site = headers
                .get_all(SEC_FETCH_SITE)
                .iter()
                .find(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"));
            return site.map_or(Ok(()), |site| Err(Denied::Site(text(site))));
        }
        match origins.find(|origin| !origin.to_str().is_ok_and(|origin| self.is_origin(origin))) {
            Some(origin) => Err(Denied::Origin(text(origin))),
            None => Ok(()),
        }
    }

    fn sent_token<'r>(&self, headers: &'r HeaderMap) -> Result<Option<&'r [u8]>, Denied> {
        if self.tokens.is_empty() {
            return Ok(None);
        }
        let sent = headers.get(AUTHORIZATION).ok_or(Denied::NoToken)?;
        let sent = sent.to_str().ok().and_then(|sent| sent.split_once(' '));
        let sent = sent.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).ok_or(Denied::NoToken)?;
        Ok(Some(sent.1.trim_matches(' ').as_bytes()))
    }

    /// The index of the token that was sent; `None` if it is wrong.
    pub(super) fn token_index(&self, sent: &[u8]) -> Option<usize> {
        // Compare all tokens, so that the time does not depend on which one matches.
        let mut matched = 0_u64;
        for (number, token) in (1..).zip(&self.tokens) {
            matched.conditional_assign(&number, token.as_bytes().ct_eq(sent));
        }
        let index = usize::try_from(matched).ok().and_then(|matched: usize| matched.checked_sub(1));
        index.filter(|_| !sent.is_empty())
    }

    /// Whether a `Host`, with or without a port, is allowed.
    fn is_host(&self, host: &str) -> bool {
        if host == "localhost" || host.strip_prefix("localhost:").is_some_and(|port| port.parse::<u16>().is_ok()) {
            return true;
        }
        let Ok(authority) = Authority::try_from(host) else { return false };
        let has_valid_port = authority.host().len() == host.len() || authority.port_u16().is_some();
        // User information is not part of a host.
        !host.contains('@')
            && has_valid_port
            && (is_loopback(authority.host())
                || self.hosts.iter().any(|known| {
                    known.eq_ignore_ascii_case(host)
                        || (!has_port(known) && known.eq_ignore_ascii_case(authority.host()))
                }))
    }

    /// Whether an origin is allowed by name.
    pub(super) fn allows_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin))
    }

    fn is_origin(&self, origin: &str) -> bool {
        if self.allows_origin(origin) {
            return true;
        }
        let Ok(uri) = Uri::try_from(origin) else { return false };
        // With other schemes, anyone may use any host name.
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.authority().is_some_and(|host| self.is_host(host.as_str()))
    }
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

fn has_port(host: &str) -> bool {
    Authority::try_from(host).is_ok_and(|authority| authority.port().is_some())
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::{Access, Denied};

    fn check(access: &Access, headers: &[(&str, &str)]) -> Result<(), Denied> {
        let mut request = Request::builder().uri("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        access.check(&request.body(()).unwrap().into_parts().0).map(drop)
    }

    #[test]
    fn only_local_hosts_are_allowed_by_default() {
        let local = Access::default();
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:3000", "127.8.9.1", "[::1]:9", "[::1]"] {
            assert_eq!(check(&local, &[("host", host)]), Ok(()), "{host}");
        }
        for host in
            ["evil.example", "localhost.evil.example", "me@localhost", "128.0.0.1", "::1", "", "local host", "[::2]"]
        {
            assert_eq!(check(&local, &[("host", host)]), Err(Denied::Host(host.to_owned())), "{host}");
        }
        assert_eq!(check(&local, &[]), Err(Denied::Host(String::new())), "none at all");
        assert!(check(&local, &[("host", "localhost"), ("host", "localhost")]).is_err(), "two");
        let named = Access { hosts: vec!["api.example".to_owned(), "b.example:81".to_owned()], ..Access::default() };
        for (host, allowed) in [
            ("api.example", true),
            ("API.example:443", true),
            ("b.example:81", true),
            ("b.example:82", false),
            ("b.example", false),
        ] {
            assert_eq!(check(&named, &[("host", host)]).is_ok(), allowed, "{host}");
        }
        let any = Access { any_host: true, ..Access::default() };
        assert_eq!(check(&any, &[("host", "evil.example")]), Ok(()));
    }

    #[test]
    fn the_host_in_the_request_target_is_checked() {
        let request = Request::builder().uri("http://evil.example/mcp").header("host", "localhost").body(()).unwrap();
        assert_eq!(Access::default().check(&request.into_parts().0), Err(Denied::Host("evil.example".to_owned())));
        let request = Request::builder().uri("http://localhost/mcp").body(()).unwrap();
        assert_eq!(Access::default().check(&request.into_parts().0), Ok(None));
    }

    #[test]
    fn pages_of_other_origins_are_denied() {
        let access = Access { origins: vec!["https://app.example".to_owned()], ..Access::default() };
        let check = |origin| check(&access, &[("host", "localhost"), ("origin", origin)]);
        for origin in ["http://localhost:5173", "https://127.0.0.1", "http://[::1]:1", "https://app.example"] {
            assert_eq!(check(origin), Ok(()), "{origin}");
        }
        for origin in ["https://evil.example", "null", "localhost", "https://app.example.evil.example", "", "http://"] {
            assert_eq!(check(origin), Err(Denied::Origin(origin.to_owned())), "{origin}");
        }
    }

    #[test]
    fn a_token_must_match_completely() {
        let access = Access { tokens: vec!["s3cret".to_owned(), "other".to_owned()], ..Access::default() };
        let check = |value: &str| {
            let request = Request::builder().uri("/mcp").header("authorization", value);
            let request = request.body(()).unwrap().into_parts().0;
            let sent = access.check(&request)?.expect("a token is needed");
            Ok(access.token_index(sent))
        };
        for (value, token) in [("Bearer s3cret", 0), ("bearer other", 1), ("BEARER  s3cret ", 0)] {
            assert_eq!(check(value), Ok(Some(token)), "{value}");
        }
        for value in ["Bearer s3cre", "Bearer s3crett", "Bearer S3CRET", "Bearer ", "Bearer s3cret,other"] {
            assert_eq!(check(value), Ok(None), "{value}");
        }
        for value in ["Basic s3cret", "s3cret", "Bearer", ""] {
            assert_eq!(check(value), Err(Denied::NoToken), "{value}");
        }
    }
}
