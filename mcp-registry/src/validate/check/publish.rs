//! Arguments as a gate or a layer sees them: under the names and in the form that the schema publishes.

use std::num::IntErrorKind;

use mcp_core::support::faults::escaped;
use serde_json::Value;

use super::plan::{Const, Plan};
use super::report::Report;
use super::scan::{Malformed, Scanner};
use super::{How, Leniency, Mode, Run, Schema};
use crate::validate::Faults;

impl Schema {
    /// Checks a value that is looked at before the types read it. Other names of members are replaced by the published
    /// ones; what types could read under a name that is not published is refused, unless the schema is open, or this is a
    /// member of an open root. If the value was edited, returns the edited text.
    pub(crate) fn publish(&self, json: &str, how: &How<'_>, opens_root: bool) -> Result<Option<String>, Faults> {
        let mut run = Run::new(self, json, Report::new(how.document, how.secrets), Leniency::Lenient);
        (run.publishes, run.opens_root) = (true, opens_root);
        self.completed(run, how)
    }
}

impl<'a> Run<'a> {
    fn publishes_values(&self) -> bool {
        self.publishes && self.mode == Mode::Report
    }

    /// Whether the values of an `enum` have other names, and those are refused.
    pub(super) fn refuses_aliases(&self, plan: &Plan) -> bool {
        plan.value_aliases > 0 && self.publishes_values()
    }

    /// The values of an `enum` that fit.
    pub(super) fn values(&self, plan: &'a Plan) -> Option<&'a [Const]> {
        let values = plan.values.as_deref()?;
        let refused = if self.publishes_values() { plan.value_aliases } else { 0 };
        Some(&values[..values.len() - refused])
    }
}

/// An integer of a JSON text.
pub(crate) struct Integer<'a> {
    /// Where it is, as a JSON pointer.
    pub(crate) path: String,
    pub(crate) text: &'a str,
}

/// The first integer that a [`Value`] would round, if there is one.
pub(crate) fn rounded_integer(json: &str) -> Option<Integer<'_>> {
    // An integer that fits has at most 20 digits; most texts have no more than 18 digits in a row.
    let mut digits = 0;
    let is_long = |byte: &u8| {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        digits > 18
    };
    if !json.as_bytes().iter().any(is_long) {
        return None;
    }
    let mut scan = Scanner::new(json);
    scan.next_token();
    let (mut path, mut found) = (String::new(), None);
    // A text that is not JSON has no value that could be wrong.
    find_rounded(&mut scan, &mut path, &mut found).ok()?;
    found.map(|text| Integer { path, text })
}

/// Reads the value at the position. If it contains such an integer, the path is left at it.
fn find_rounded<'a>(scan: &mut Scanner<'a>, path: &mut String, found: &mut Option<&'a str>) -> Result<(), Malformed> {
    let length = path.len();
    match scan.peek() {
        b'{' => {
            let mut has_more = scan.enter(b'}')?;
            while has_more {
                path.push('/');
                path.push_str(&escaped(&scan.key()?.decoded()));
                find_rounded(scan, path, found)?;
                if found.is_some() {
                    return Ok(());
                }
                path.truncate(length);
                has_more = scan.next_part(b'}')?;
            }
        }
        b'[' => {
            let (mut has_more, mut index) = (scan.enter(b']')?, 0_usize);
            while has_more {
                path.push('/');
                path.push_str(&index.to_string());
                find_rounded(scan, path, found)?;
                if found.is_some() {
                    return Ok(());
                }
                path.truncate(length);
                index += 1;
                has_more = scan.next_part(b']')?;
            }
        }
        b'-' | b'0'..=b'9' => {
            let (text, is_plain) = scan.number()?;
            *found = Some(text).filter(|text| is_plain && is_rounded(text));
        }
        _ => scan.skip()?,
    }
    Ok(())
}

fn is_rounded(integer: &str) -> bool {
    let is_out_of_range = |kind: &IntErrorKind| matches!(kind, IntErrorKind::PosOverflow | IntErrorKind::NegOverflow);
    let exceeds =
        integer.parse::<i64>().is_err_and(|error| is_out_of_range(error.kind())) && integer.parse::<u64>().is_err();
    // With `arbitrary_precision`, which another crate may enable, nothing is rounded.
    let kept = || serde_json::from_str::<Value>(integer).map(|value| value.to_string());
    exceeds && kept().map_or(true, |kept| kept != integer)
}
