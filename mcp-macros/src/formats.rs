//! The formats of texts and numbers in keys: names of tools, versions, times.

use syn::{LitInt, LitStr};

use crate::errors::error;

pub(crate) fn parse_name(name: LitStr) -> syn::Result<LitStr> {
    check_name(&name.value()).or_else(|reason| error(&name, reason)).map(|()| name)
}

/// The grammar of `mcp_core::ToolName`, which this crate cannot depend on.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mistake = if let Some(c) = name.chars().find(|c| !legal(*c)) {
        format!("a tool's name cannot have {c:?}; use letters, digits, `_`, `-` and `.`")
    } else if name.is_empty() {
        "a tool needs a name; write `module.tool`".to_owned()
    } else if name.len() > 128 {
        format!("a tool's name has at most 128 characters, not {}; shorten it", name.len())
    } else if name.split('.').any(str::is_empty) {
        "a tool's name has something before and after each dot; write `module.tool`".to_owned()
    } else {
        return Ok(());
    };
    Err(mistake)
}

pub(crate) fn parse_version(version: LitStr) -> syn::Result<LitStr> {
    match semver::Version::parse(&version.value()) {
        Ok(_) => Ok(version),
        Err(reason) => error(&version, format!("not a version ({reason}); write `major.minor.patch`, such as `1.0.0`")),
    }
}

/// Milliseconds in `"500ms"`, `"5s"` or `"2m"`; none in `"none"`.
pub(crate) fn parse_timeout(text: &LitStr) -> syn::Result<Option<u64>> {
    let value = text.value();
    if value == "none" {
        return Ok(None);
    }
    let (number, unit) = value.split_at(value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len()));
    let millis = match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        _ => None,
    };
    match millis.and_then(|millis| number.parse::<u64>().ok()?.checked_mul(millis)) {
        Some(0) => error(text, "a tool needs some time; write `\"none\"` for no limit"),
        Some(millis) => Ok(Some(millis)),
        None => error(text, "not a time; write `\"500ms\"`, `\"5s\"`, `\"2m\"` or `\"none\"`"),
    }
}

pub(crate) fn parse_seconds(seconds: &LitInt) -> syn::Result<u64> {
    let parsed = seconds.base10_parse::<u32>().map(u64::from);
    parsed.or_else(|_| error(seconds, "`cache_ttl` is in seconds; use a smaller number"))
}
