//! The formats of JSON Schema 2020-12 that are checked.
//!
//! `iri`, `iri-reference` and `idn-email` are not: they are rare, and need tables of Unicode. `idn-hostname`, and the
//! labels of a `hostname` that are encoded (`xn--…`), are checked without such tables: a label consists of letters, digits
//! and combining marks, with the rules of RFC 5892 for single characters. This accepts some characters that IDNA rejects,
//! such as fractions, circled letters, and vowel signs at the start, and ignores the rules for text that is written from
//! right to left.

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, Ipv6Addr};

use super::pattern::Pattern;

/// A format of texts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    pub(crate) name: &'static str,
    /// A text of the format.
    pub(crate) example: &'static str,
    /// A text that is not of the format.
    pub(crate) counterexample: &'static str,
    /// Whether a text is of the format. Takes time linear in the text.
    pub(crate) accepts: fn(&str) -> bool,
}

const fn new(
    name: &'static str,
    example: &'static str,
    counterexample: &'static str,
    accepts: fn(&str) -> bool,
) -> Format {
    Format { name, example, counterexample, accepts }
}

pub(crate) const FORMATS: [Format; 16] = [
    new("date-time", "2020-01-01T00:00:00Z", "2020-01-01 00:00", is_date_time),
    new("date", "2020-01-01", "2020-02-30", is_date),
    new("time", "00:00:00Z", "25:00:00Z", is_time),
    new("duration", "PT1S", "1s", is_duration),
    new("email", "a@example.com", "a", is_email),
    new("hostname", "example.com", "-", is_hostname),
    new("idn-hostname", "example.com", "-", is_idn_hostname),
    new("ipv4", "127.0.0.1", "256.0.0.1", |text| text.parse::<Ipv4Addr>().is_ok()),
    new("ipv6", "::1", "127.0.0.1", |text| text.parse::<Ipv6Addr>().is_ok()),
    new("uri", "https://example.com", "example", is_uri),
    new("uri-reference", "https://example.com", "\\", is_uri_reference),
    new("uri-template", "https://example.com/{id}", "{", is_uri_template),
    new("uuid", "00000000-0000-4000-8000-000000000000", "0", is_uuid),
    new("json-pointer", "/a", "a", is_json_pointer),
    new("relative-json-pointer", "0", "/", is_relative_json_pointer),
    new("regex", "a", "(", |text| Pattern::new(text).is_ok()),
];

/// The format with this name.
pub(crate) fn format(name: &str) -> Option<&'static Format> {
    const ALL: &[Format] = &FORMATS;
    ALL.iter().find(|format| format.name == name)
}

/// The number that these digits are.
fn number(digits: &[u8]) -> Option<u32> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0'));
    digits.iter().try_fold(0_u32, |number, byte| number.checked_mul(10)?.checked_add(digit(byte)?))
}

/// RFC 3339, section 5.6.
fn is_date_time(text: &str) -> bool {
    text.split_once(['T', 't']).is_some_and(|(date, time)| is_date(date) && is_time(time))
}

fn is_date(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text.as_bytes() else { return false };
    let (Some(year), Some(month), Some(day)) = (number(&[y1, y2, y3, y4]), number(&[m1, m2]), number(&[d1, d2])) else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_time(text: &str) -> bool {
    const DAY: u32 = 24 * 60;
    let Some((&[h1, h2, b':', m1, m2, b':', s1, s2], mut rest)) = text.as_bytes().split_first_chunk() else {
        return false;
    };
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return false;
        }
        rest = &fraction[digits..];
    }
    // Minutes of the day.
    let minutes = |hour: [u8; 2], minute: [u8; 2]| {
        let (hour, minute) = (number(&hour)?, number(&minute)?);
        (hour < 24 && minute < 60).then_some(hour * 60 + minute)
    };
    let offset = match *rest {
        [b'Z' | b'z'] => Some(0),
        [b'-', h1, h2, b':', m1, m2] => minutes([h1, h2], [m1, m2]),
        [b'+', h1, h2, b':', m1, m2] => minutes([h1, h2], [m1, m2]).map(|minutes| DAY - minutes),
        _ => None,
    };
    match (minutes([h1, h2], [m1, m2]), number(&[s1, s2]), offset) {
        // A leap second is inserted at the end of a day in UTC.
        (Some(local), Some(60), Some(offset)) => (local + offset) % DAY == DAY - 1,
        (Some(_), Some(second), Some(_)) => second < 60,
        _ => false,
    }
}

/// RFC 3339, appendix A.
fn is_duration(text: &str) -> bool {
    // Numbers with units, none of which is left out between the first and the last.
    fn has_units(mut text: &str, units: &str) -> bool {
        let mut units = units.chars();
        let mut is_first = true;
        while !text.is_empty() {
            let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
            let Some(unit) = rest.chars().next().filter(|_| rest.len() < text.len()) else { return false };
            let is_next = if is_first { units.any(|next| next == unit) } else { units.next() == Some(unit) };
            if !is_next {
                return false;
            }
            is_first = false;
            text = &rest[unit.len_utf8()..];
        }
        !is_first
    }
    let Some(text) = text.strip_prefix('P') else { return false };
    match text.split_once('T') {
        None => has_units(text, "YMD") || has_units(text, "W"),
        Some((date, time)) => (date.is_empty() || has_units(date, "YMD")) && has_units(time, "HMS"),
    }
}

/// RFC 5321, section 4.1.2: `Mailbox`.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_atom = |atom: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
        !atom.is_empty() && atom.bytes().all(fits)
    };
    let is_quoted = |quoted: &str| {
        let mut bytes = quoted.bytes();
        while let Some(byte) = bytes.next() {
            let fits = match byte {
                b'\\' => bytes.next().is_some_and(|escaped| escaped.is_ascii_graphic()),
                _ => byte != b'"' && matches!(byte, b'\t' | b' '..=b'~'),
            };
            if !fits {
                return false;
            }
        }
        true
    };
    let is_local = match local.strip_prefix('"').and_then(|local| local.strip_suffix('"')) {
        Some(quoted) => is_quoted(quoted),
        None => local.split('.').all(is_atom),
    };
    let is_domain = match domain.strip_prefix('[').and_then(|domain| domain.strip_suffix(']')) {
        Some(address) => match address.get(..5) {
            Some(tag) if tag.eq_ignore_ascii_case("IPv6:") => address[5..].parse::<Ipv6Addr>().is_ok(),
            _ => address.parse::<Ipv4Addr>().is_ok(),
        },
        None => is_hostname(domain),
    };
    local.len() <= 64 && is_local && is_domain
}

/// RFC 1123, section 2.1, and RFC 5891 for the labels that are encoded.
fn is_hostname(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_ascii_label)
}

/// RFC 5890, as far as possible without tables. The dots are those of RFC 3490.
fn is_idn_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        let chars: Vec<char> = label.chars().take(64).collect();
        let fits = |c: &char| !c.is_ascii() || c.is_ascii_alphanumeric() || *c == '-';
        if label.is_ascii() {
            return is_ascii_label(label);
        }
        // Encoded, a label has four more characters, and at least one more for each that is not ASCII.
        let has_hyphens = label.starts_with('-') || label.ends_with('-') || chars.get(2..4) == Some(&['-', '-']);
        chars.len() <= 59 && !has_hyphens && chars.iter().all(fits) && is_unicode_label(&chars)
    };
    text.chars().take(254).count() <= 253 && text.split(['.', '\u{3002}', '\u{FF0E}', '\u{FF61}']).all(is_label)
}

fn is_ascii_label(label: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_decoded = |label: &str| punycode(label).is_some_and(|label| is_unicode_label(&label));
    (1..=63).contains(&label.len())
        && label.bytes().all(fits)
        && !label.starts_with('-')
        && !label.ends_with('-')
        && (label.get(2..4) != Some("--") || label.strip_prefix("xn--").is_some_and(is_decoded))
}

/// Whether a label consists of letters, digits, combining marks, and of the characters of RFC 5892, appendix A, where
/// they belong. ASCII is not checked.
fn is_unicode_label(label: &[char]) -> bool {
    let is_kana_or_han =
        |c: &char| matches!(c, '\u{3040}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}' | '\u{4E00}'..='\u{9FFF}');
    let is_persian_digit = |c: &char| ('\u{6F0}'..='\u{6F9}').contains(c);
    let fits = |(index, c): (usize, &char)| {
        let before = index.checked_sub(1).map_or('\0', |index| label[index]);
        let after = label.get(index + 1).copied().unwrap_or('\0');
        match *c {
            '\u{B7}' => before == 'l' && after == 'l',
            '\u{375}' => ('\u{370}'..='\u{3FF}').contains(&after),
            '\u{5F3}' | '\u{5F4}' => ('\u{590}'..='\u{5FF}').contains(&before),
            '\u{660}'..='\u{669}' => !label.iter().any(is_persian_digit),
            '\u{30FB}' => label.iter().any(is_kana_or_han),
            // After a virama, which is a mark but no letter.
            '\u{200D}' => is_mark(before) && !before.is_alphanumeric(),
            '\u{200C}' | '\u{6FD}' | '\u{6FE}' | '\u{F0B}' | '\u{3007}' => true,
            '\u{640}' | '\u{7FA}' | '\u{302E}' | '\u{302F}' | '\u{3031}'..='\u{3035}' | '\u{303B}' => false,
            c => c.is_ascii() || c.is_alphanumeric() || (is_mark(c) && index > 0),
        }
    };
    label.iter().enumerate().all(fits)
}

/// Whether a character is a combining mark of a script in common use. Many marks are alphanumeric as well.
fn is_mark(c: char) -> bool {
    #[rustfmt::skip]
    const MARKS: [(u32, u32); 50] = [
        (0x300, 0x36F), (0x483, 0x487), (0x591, 0x5BD), (0x5BF, 0x5BF), (0x5C1, 0x5C2), (0x5C4, 0x5C5),
        (0x5C7, 0x5C7), (0x610, 0x61A), (0x64B, 0x65F), (0x6D6, 0x6DC), (0x6DF, 0x6E8), (0x6EA, 0x6ED),
        (0x730, 0x74A), (0x7EB, 0x7F3), (0x816, 0x82D), (0x859, 0x85B), (0x898, 0x8E1), (0x8E3, 0x963),
        (0x981, 0x9E3), (0x9FE, 0xA75), (0xA81, 0xAE3), (0xAFA, 0xB63), (0xB82, 0xBD7), (0xC00, 0xC63),
        (0xC81, 0xC83), (0xCBC, 0xD4D), (0xD62, 0xDF3), (0xE31, 0xE3A), (0xE47, 0xE4E), (0xEB1, 0xECD),
        (0xF18, 0xF19), (0xF35, 0xF35), (0xF37, 0xF37), (0xF39, 0xF39), (0xF71, 0xF84), (0xF86, 0xFBC),
        (0x102B, 0x103E), (0x1056, 0x109D), (0x135D, 0x135F), (0x1712, 0x1734), (0x17B4, 0x17D3), (0x1A55, 0x1A7F),
        (0x1AB0, 0x1ABD), (0x1B00, 0x1B44), (0x1B80, 0x1BF3), (0x1C24, 0x1C37), (0x1DC0, 0x1DFF), (0x3099, 0x309A),
        (0xA8E0, 0xA8F1), (0xFE20, 0xFE2F),
    ];
    MARKS.iter().any(|&(start, end)| (start..=end).contains(&u32::from(c)))
}

/// RFC 3492, section 6.2. The label is short.
fn punycode(label: &str) -> Option<Vec<char>> {
    let (plain, code) = label.rsplit_once('-').filter(|(plain, _)| !plain.is_empty()).unwrap_or(("", label));
    let mut chars: Vec<char> = plain.chars().collect();
    let mut digits = code.bytes();
    let (mut c, mut index, mut bias) = (128_u32, 0_u32, 72);
    while digits.len() > 0 {
        let (before, mut weight, mut k) = (index, 1_u32, 36_u32);
        loop {
            let digit = match digits.next()? {
                digit @ b'0'..=b'9' => digit - b'0' + 26,
                letter => letter.to_ascii_lowercase().checked_sub(b'a')?,
            };
            let (digit, threshold) = (u32::from(digit), k.saturating_sub(bias).clamp(1, 26));
            index = index.checked_add(digit.checked_mul(weight)?)?;
            if digit < threshold {
                break;
            }
            weight = weight.checked_mul(36 - threshold)?;
            k += 36;
        }
        let count = u32::try_from(chars.len() + 1).ok()?;
        let mut delta = (index - before) / if before == 0 { 700 } else { 2 };
        delta += delta / count;
        bias = 0;
        while delta > 455 {
            delta /= 35;
            bias += 36;
        }
        bias += 36 * delta / (delta + 38);
        c = c.checked_add(index / count)?;
        index %= count;
        chars.insert(index as usize, char::from_u32(c)?);
        index += 1;
    }
    Some(chars)
}

/// Whether a text consists of allowed bytes, and of bytes that are encoded as `%` and two hexadecimal digits.
fn is_encoded(text: &str, allows: impl Fn(u8) -> bool) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut is_hex = || bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit());
        let fits = if byte == b'%' { is_hex() && is_hex() } else { allows(byte) };
        if !fits {
            return false;
        }
    }
    true
}

/// Whether a text consists of the characters that are allowed everywhere in a URI, and of these.
fn is_uri_part(text: &str, extra: &[u8]) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte);
    is_encoded(text, |byte| is_plain(byte) || extra.contains(&byte))
}

/// RFC 3986, section 3.
fn is_uri(text: &str) -> bool {
    after_scheme(text).is_some_and(is_relative_reference)
}

/// RFC 3986, section 4.1.
fn is_uri_reference(text: &str) -> bool {
    let first_segment = text.split(['/', '?', '#']).next().unwrap_or_default();
    match after_scheme(text) {
        Some(rest) => is_relative_reference(rest),
        None => !first_segment.contains(':') && is_relative_reference(text),
    }
}

fn after_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    (scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(fits)).then_some(rest)
}

/// What follows a scheme: an authority, a path, a query, and a fragment.
fn is_relative_reference(text: &str) -> bool {
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (text, query) = text.split_once('?').unwrap_or((text, ""));
    let (authority, path) = match text.strip_prefix("//") {
        Some(text) => text.split_at(text.find('/').unwrap_or(text.len())),
        None => ("", text),
    };
    is_authority(authority)
        && is_uri_part(path, b":@/")
        && is_uri_part(query, b":@/?")
        && is_uri_part(fragment, b":@/?")
}

fn is_authority(text: &str) -> bool {
    let (user, host) = text.rsplit_once('@').unwrap_or(("", text));
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let is_future = |address: &str| {
        let (version, address) = address.split_once('.').unwrap_or_default();
        let is_hex = version.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_address = !address.is_empty() && !address.contains('%') && is_uri_part(address, b":");
        !version.is_empty() && is_hex && is_address
    };
    let is_host = match host.strip_prefix('[').map(|host| host.split_once(']')) {
        None => {
            let (host, port) = host.split_once(':').unwrap_or((host, ""));
            is_uri_part(host, b"") && is_port(port)
        }
        Some(None) => false,
        Some(Some((address, port))) => {
            let is_address = match address.strip_prefix(['v', 'V']) {
                Some(address) => is_future(address),
                None => address.parse::<Ipv6Addr>().is_ok(),
            };
            is_address && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
        }
    };
    is_uri_part(user, b":") && is_host
}

/// RFC 6570, with erratum 6937: an apostrophe is a literal.
fn is_uri_template(text: &str) -> bool {
    let is_literals = |text: &str| is_encoded(text, |byte| byte > b' ' && !b"\"<>\\^`{|}\x7F".contains(&byte));
    let is_name = |name: &str| {
        let is_part =
            |part: &str| !part.is_empty() && is_encoded(part, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        name.split('.').all(is_part)
    };
    let is_length = |length: &str| {
        let is_number = length.bytes().all(|byte| byte.is_ascii_digit());
        (1..=4).contains(&length.len()) && !length.starts_with('0') && is_number
    };
    let is_variable = |variable: &str| match (variable.strip_suffix('*'), variable.split_once(':')) {
        (Some(name), _) => is_name(name),
        (None, Some((name, length))) => is_name(name) && is_length(length),
        (None, None) => is_name(variable),
    };
    let mut parts = text.split('{');
    parts.next().is_some_and(is_literals)
        && parts.all(|part| {
            let Some((expression, literals)) = part.split_once('}') else { return false };
            let operators = ['+', '#', '.', '/', ';', '?', '&', '=', ',', '!', '@', '|'];
            let variables = expression.strip_prefix(operators).unwrap_or(expression);
            variables.split(',').all(is_variable) && is_literals(literals)
        })
}

/// RFC 4122, section 3.
fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let mut parts = text.split('-');
    let is_part = |length: usize, part: &str| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    lengths.into_iter().all(|length| parts.next().is_some_and(|part| is_part(length, part))) && parts.next().is_none()
}

/// RFC 6901, section 3.
fn is_json_pointer(text: &str) -> bool {
    let is_escaped = |rest: &str| rest.starts_with(['0', '1']);
    (text.is_empty() || text.starts_with('/')) && text.split('~').skip(1).all(is_escaped)
}

/// The draft "Relative JSON Pointers", section 3.
fn is_relative_json_pointer(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let levels = &text[..text.len() - rest.len()];
    let is_number = levels == "0" || !(levels.is_empty() || levels.starts_with('0'));
    is_number && (rest == "#" || is_json_pointer(rest))
}
