//! Numbers as they are written in JSON, compared exactly.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Number;

/// A number of a schema: `digits × 10^exponent`, without trailing zeros, so that equal numbers are equal here.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i32,
}

/// A number of a message: its text, taken apart. It can have any number of digits.
#[derive(Clone, Copy, Debug)]
pub struct Digits<'a> {
    negative: bool,
    /// The digits before the point, without leading zeros; if there are none, `fraction` has no leading zeros either.
    whole: &'a [u8],
    /// The digits after the point, without trailing zeros; if there are none, `whole` has no trailing zeros either.
    fraction: &'a [u8],
    /// The power of ten by which the digits, read as one integer, are multiplied.
    exponent: i64,
}

impl Decimal {
    /// Zero.
    pub const ZERO: Self = Self { negative: false, digits: 0, exponent: 0 };

    /// A number of a schema. `serde_json` holds it as an integer of 64 bits or as a float, whose shortest text is taken.
    pub fn of(number: &Number) -> Self {
        Self::parse(&number.to_string()).unwrap_or(Self::ZERO)
    }

    /// A number as it is written in JSON; none if it has too many digits or is not a number.
    pub fn parse(text: &str) -> Option<Self> {
        let number = Digits::parse(text.as_bytes())?;
        let digits = number.iter().try_fold(0_u128, |value, digit| value.checked_mul(10)?.checked_add(digit.into()))?;
        Some(Self { negative: number.negative, digits, exponent: i32::try_from(number.exponent).ok()? })
    }

    /// Whether the number has no fraction.
    pub fn is_integer(self) -> bool {
        self.exponent >= 0
    }

    /// Whether the number is zero.
    pub fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// Whether the number is less than zero.
    pub fn is_negative(self) -> bool {
        self.negative
    }

    /// The number as an integer, if it is one and fits.
    pub fn to_i128(self) -> Option<i128> {
        self.in_units(0)
    }

    /// The power of ten by which the digits are multiplied.
    pub fn exponent(self) -> i32 {
        self.exponent
    }

    /// The number in units of a power of ten, if it is an integer of them and fits.
    pub fn in_units(self, exponent: i32) -> Option<i128> {
        let power = 10_i128.checked_pow(u32::try_from(self.exponent.checked_sub(exponent)?).ok()?)?;
        let value = i128::try_from(self.digits).ok()?.checked_mul(power)?;
        Some(if self.negative { -value } else { value })
    }

    fn with_text<T>(self, read: impl FnOnce(Digits<'_>) -> T) -> T {
        let text = self.digits.to_string();
        let whole = if self.digits == 0 { &[] } else { text.as_bytes() };
        read(Digits { negative: self.negative, whole, fraction: &[], exponent: self.exponent.into() })
    }
}

impl From<i128> for Decimal {
    fn from(value: i128) -> Self {
        let (mut digits, mut exponent) = (value.unsigned_abs(), 0);
        while digits != 0 && digits % 10 == 0 {
            (digits, exponent) = (digits / 10, exponent + 1);
        }
        Self { negative: value < 0, digits, exponent }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.with_text(|digits| digits.compare(*other))
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        let (digits, exponent) = (self.digits.to_string(), self.exponent);
        let length = i64::try_from(digits.len()).unwrap_or_default();
        match i64::from(exponent) {
            0 => write!(f, "{sign}{digits}"),
            zeros @ 1..=20 => write!(f, "{sign}{digits}{:0<1$}", "", usize::try_from(zeros).unwrap_or_default()),
            exponent @ -20..=-1 if length + exponent > 0 => {
                let (whole, fraction) = digits.split_at(usize::try_from(length + exponent).unwrap_or_default());
                write!(f, "{sign}{whole}.{fraction}")
            }
            exponent @ -20..=-1 => {
                write!(f, "{sign}0.{:0<1$}{digits}", "", usize::try_from(-exponent - length).unwrap_or_default())
            }
            exponent => write!(f, "{sign}{digits}e{exponent}"),
        }
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An exponent beyond any number of digits that a message can have.
const HUGE: i64 = 1 << 40;

/// The most zeros that are appended to write an integer without its exponent.
const LONGEST_INTEGER: i64 = 40;

impl<'a> Digits<'a> {
    /// The number that the text is; none if it is not one of JSON.
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        let (negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, text),
        };
        let digits = |text: &'a [u8]| {
            let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
            (end > 0).then(|| text.split_at(end))
        };
        let (whole, rest) = digits(text)?;
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => digits(rest)?,
            _ => (&[][..], rest),
        };
        let mut exponent = 0;
        if let [b'e' | b'E', rest @ ..] = rest {
            let (sign, rest) = match rest {
                [b'-', rest @ ..] => (-1, rest),
                [b'+', rest @ ..] => (1, rest),
                _ => (1, rest),
            };
            let (power, []) = digits(rest)? else { return None };
            let power = power.iter().fold(0, |value: i64, digit| (value * 10 + i64::from(digit - b'0')).min(HUGE));
            exponent = sign * power;
        } else if !rest.is_empty() {
            return None;
        }
        if whole.len() > 1 && whole[0] == b'0' {
            return None;
        }
        Some(Self::trimmed(negative, whole, fraction, exponent))
    }

    fn trimmed(negative: bool, mut whole: &'a [u8], mut fraction: &'a [u8], mut exponent: i64) -> Self {
        let length = |digits: &[u8]| i64::try_from(digits.len()).unwrap_or(i64::MAX);
        while let [b'0', rest @ ..] = whole {
            whole = rest;
        }
        while let [rest @ .., b'0'] = fraction {
            fraction = rest;
        }
        exponent -= length(fraction);
        if whole.is_empty() {
            while let [b'0', rest @ ..] = fraction {
                fraction = rest;
            }
        }
        if fraction.is_empty() {
            while let [rest @ .., b'0'] = whole {
                (whole, exponent) = (rest, exponent + 1);
            }
        }
        if whole.is_empty() && fraction.is_empty() {
            return Self { negative: false, whole, fraction, exponent: 0 };
        }
        Self { negative, whole, fraction, exponent }
    }

    fn iter(&self) -> impl Iterator<Item = u8> + Clone + use<'a> {
        self.whole.iter().chain(self.fraction).map(|digit| digit - b'0')
    }

    fn len(&self) -> usize {
        self.whole.len() + self.fraction.len()
    }

    fn is_zero(&self) -> bool {
        self.len() == 0
    }

    /// Whether the number has no fraction.
    pub fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// Compares the number with one of a schema.
    pub fn compare(&self, other: Decimal) -> Ordering {
        if self.negative != other.negative {
            return if self.negative { Ordering::Less } else { Ordering::Greater };
        }
        let order = self.compare_magnitude(other);
        if self.negative { order.reverse() } else { order }
    }

    fn compare_magnitude(&self, other: Decimal) -> Ordering {
        match (self.is_zero(), other.digits == 0) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        let mut buffer = [0; 40];
        let digits = decimal_digits(other.digits, &mut buffer);
        let length = |digits: usize| i64::try_from(digits).unwrap_or(i64::MAX);
        // How many digits stand before the point.
        let size = length(self.len()).saturating_add(self.exponent);
        let other_size = length(digits.len()) + i64::from(other.exponent);
        size.cmp(&other_size).then_with(|| self.iter().cmp(digits.iter().copied()))
    }

    /// Whether the number is a multiple of one of a schema, which is above zero.
    pub fn is_multiple_of(&self, of: Decimal) -> bool {
        if self.is_zero() || of.digits == 0 {
            return self.is_zero();
        }
        let power = self.exponent.saturating_sub(of.exponent.into());
        if power < 0 {
            // The digits do not end in a zero, so dividing them by ten leaves a fraction.
            return false;
        }
        let modulus = of.digits;
        if modulus > u128::from(u64::MAX) {
            return false;
        }
        let remainder = self.iter().fold(0, |value, digit| (value * 10 + u128::from(digit)) % modulus);
        remainder * power_modulo(u64::try_from(power).unwrap_or(u64::MAX), modulus) % modulus == 0
    }

    /// The integer in digits, if the number is one, is not written like one, and is not too long.
    pub fn as_plain_integer(&self, text: &str) -> Option<String> {
        let is_plain = text != "-0" && !text.contains(['.', 'e', 'E']);
        if !self.is_integer() || is_plain || self.exponent > LONGEST_INTEGER {
            return None;
        }
        if self.is_zero() {
            return Some("0".to_owned());
        }
        let digits = self.iter().map(|digit| char::from(digit + b'0'));
        let zeros = usize::try_from(self.exponent).unwrap_or_default();
        Some(self.negative.then_some('-').into_iter().chain(digits).chain(std::iter::repeat_n('0', zeros)).collect())
    }
}

/// The same number hashes to the same value, however it is written, if the hasher takes bytes as a stream, as those of
/// `siphasher` do.
impl std::hash::Hash for Digits<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u8(self.negative.into());
        state.write_i64(self.exponent);
        state.write(self.whole);
        state.write(self.fraction);
    }
}

impl PartialEq<Decimal> for Digits<'_> {
    fn eq(&self, other: &Decimal) -> bool {
        self.compare(*other).is_eq()
    }
}

fn decimal_digits(mut value: u128, buffer: &mut [u8; 40]) -> &[u8] {
    let mut start = buffer.len();
    while value != 0 {
        start -= 1;
        buffer[start] = u8::try_from(value % 10).unwrap_or_default();
        value /= 10;
    }
    &buffer[start..]
}

/// 10 to a power, modulo a number of at most 64 bits.
fn power_modulo(mut power: u64, modulus: u128) -> u128 {
    let (mut result, mut base) = (1 % modulus, 10 % modulus);
    while power > 0 {
        if power & 1 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        power >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::{Decimal, Digits};

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    fn digits(text: &str) -> Digits<'_> {
        Digits::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn numbers_are_compared_exactly() {
        let ascending = [
            "-1e400",
            "-18446744073709551616",
            "-18446744073709551615.5",
            "-2",
            "-1.5",
            "-1",
            "-0.001",
            "0",
            "1e-400",
            "0.1",
            "0.10000000000000000001",
            "0.2",
            "1",
            "9.99",
            "10",
            "100",
            "18446744073709551615",
            "18446744073709551615.1",
            "18446744073709551616",
            "1e300",
            "1e400",
        ];
        for (position, one) in ascending.iter().enumerate() {
            for (other_position, other) in ascending.iter().enumerate() {
                let expected = position.cmp(&other_position);
                assert_eq!(digits(one).compare(decimal(other)), expected, "{one} and {other}");
                assert_eq!(decimal(one).cmp(&decimal(other)), expected, "{one} and {other}");
            }
        }
        for equal in ["100", "1e2", "100.0", "1.00E+2", "0.1e3", "10000e-2"] {
            assert_eq!(digits(equal).compare(decimal("100")), Ordering::Equal, "{equal}");
            assert_eq!(decimal(equal), decimal("100"));
        }
        assert_eq!(digits("-0.0").compare(decimal("0")), Ordering::Equal);
    }

    #[test]
    fn an_integer_has_no_fraction_however_it_is_written() {
        for integer in ["0", "-0", "2.0", "1e3", "12.5e1", "-3.00", "1e400"] {
            assert!(digits(integer).is_integer(), "{integer}");
        }
        for fraction in ["0.5", "1e-1", "-2.5", "12.34e1"] {
            assert!(!digits(fraction).is_integer(), "{fraction}");
        }
        let plain = |text: &str| digits(text).as_plain_integer(text);
        assert_eq!(plain("2.0").as_deref(), Some("2"));
        assert_eq!(plain("-12.50e2").as_deref(), Some("-1250"));
        assert_eq!(plain("-0.0").as_deref(), Some("0"));
        assert_eq!(plain("1e3").as_deref(), Some("1000"));
        assert_eq!(plain("-0").as_deref(), Some("0"), "which is no integer for serde");
        assert_eq!(plain("1000"), None, "it is written like one");
        assert_eq!(plain("1e1000000"), None, "it is too long");
        assert_eq!(plain("2.5"), None);
    }

    #[test]
    fn multiples_are_exact() {
        for (value, of, expected) in [
            ("10", "5", true),
            ("0.3", "0.1", true),
            ("1.1", "0.1", true),
            ("19.99", "0.01", true),
            ("0.15", "0.1", false),
            ("7", "2", false),
            ("0", "3", true),
            ("1e30", "3", false),
            ("3e30", "3", true),
            ("1e1000", "7", false),
            ("-14e100", "7", true),
            ("18446744073709551616", "2", true),
            ("18446744073709551617", "2", false),
            ("2.5", "0.5", true),
            ("4.5", "1", false),
        ] {
            assert_eq!(digits(value).is_multiple_of(decimal(of)), expected, "{value} of {of}");
        }
    }

    #[test]
    fn a_decimal_is_shown_as_people_write_it() {
        for text in ["0", "1", "-1", "1.5", "0.25", "-0.001", "100", "1000000", "18446744073709551615"] {
            assert_eq!(decimal(text).to_string(), text);
        }
        assert_eq!(decimal("1e300").to_string(), "1e300");
        assert_eq!(decimal("1e3").to_string(), "1000");
    }

    #[test]
    fn what_is_not_a_number_of_json_is_none() {
        for text in ["", "-", "01", "1.", ".5", "1e", "1e+", "+1", "1 ", "0x1", "NaN"] {
            assert!(Digits::parse(text.as_bytes()).is_none(), "{text}");
        }
    }
}
