//! Numbers as decimals, exactly: `19.99` is a multiple of `0.01`, and 2^53 is not 2^53 + 1. Binary fractions get both wrong.

use std::cmp::Ordering;

use serde_json::Number;

/// A decimal without trailing zeros: `digits` times ten to the power of `exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ExactDecimal {
    is_negative: bool,
    digits: u64,
    exponent: i32,
}

impl ExactDecimal {
    pub(super) fn new(number: &Number) -> Self {
        // The shortest decimal that reads back as the same number: at most 17 digits, or an integer of 64 bits.
        Self::parse(&number.to_string())
    }

    fn parse(text: &str) -> Self {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = whole.bytes().chain(fraction.bytes());
        let digits = digits.fold(0_u64, |sum, digit| {
            sum.saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'))
        });
        let shift = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
        let exponent: i32 = exponent.parse().unwrap_or_default();
        Self {
            is_negative,
            digits,
            exponent: exponent.saturating_sub(shift),
        }
        .into_normalised()
    }

    fn into_normalised(mut self) -> Self {
        if self.digits == 0 {
            return Self {
                is_negative: false,
                digits: 0,
                exponent: 0,
            };
        }
        while self.digits.is_multiple_of(10) {
            self.digits /= 10;
            self.exponent += 1;
        }
        self
    }

    pub(super) fn is_integer(self) -> bool {
        self.exponent >= 0
    }

    /// Whether this is a multiple of a number that is not zero.
    pub(super) fn is_multiple_of(self, divisor: Self) -> bool {
        if self.digits == 0 || divisor.digits == 0 {
            return self.digits == 0;
        }
        let shift = i64::from(self.exponent) - i64::from(divisor.exponent);
        let (dividend, modulus) = (u128::from(self.digits), u128::from(divisor.digits));
        if shift >= 0 {
            let power = power_of_ten(shift.unsigned_abs(), modulus);
            return ((dividend % modulus) * power).is_multiple_of(modulus);
        }
        // Past 38 places the divisor is larger than any dividend.
        let places = u32::try_from(-shift).unwrap_or(u32::MAX);
        let scale = 10_u128.checked_pow(places);
        let scaled = scale.and_then(|scale| modulus.checked_mul(scale));
        scaled.is_some_and(|scaled| dividend.is_multiple_of(scaled))
    }

    fn compare_magnitude(self, other: Self) -> Ordering {
        let shift = i64::from(self.exponent) - i64::from(other.exponent);
        let scaled = |digits: u64, places: i64| {
            let places = u32::try_from(places).ok()?;
            u128::from(digits).checked_mul(10_u128.checked_pow(places)?)
        };
        match (self.digits, other.digits) {
            (0, digits) => 0.cmp(&digits),
            (_, 0) => Ordering::Greater,
            _ if shift >= 0 => match scaled(self.digits, shift) {
                Some(own) => own.cmp(&u128::from(other.digits)),
                None => Ordering::Greater,
            },
            _ => match scaled(other.digits, -shift) {
                Some(theirs) => u128::from(self.digits).cmp(&theirs),
                None => Ordering::Less,
            },
        }
    }
}

impl PartialOrd for ExactDecimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ExactDecimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, false) => self.compare_magnitude(*other),
            (true, true) => other.compare_magnitude(*self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

/// Ten to the power of `exponent`, modulo a number of at most 64 bits.
fn power_of_ten(mut exponent: u64, modulus: u128) -> u128 {
    let (mut result, mut base) = (1 % modulus, 10 % modulus);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        exponent /= 2;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_compared_and_divided_exactly() {
        let decimal = ExactDecimal::parse;
        assert!(decimal("19.99").is_multiple_of(decimal("0.01")));
        assert!(!decimal("0.00751").is_multiple_of(decimal("0.0001")));
        assert!(decimal("1e308").is_multiple_of(decimal("0.5")));
        assert!(!decimal("1e308").is_multiple_of(decimal("0.123456789")));
        assert!(!decimal("1e-300").is_multiple_of(decimal("7")));
        assert!(decimal("9007199254740993") > decimal("9007199254740992.0"));
        assert!(decimal("-1e300") < decimal("-1e-300"));
        assert!(decimal("1e300") > decimal("18446744073709551615"));
        assert_eq!(decimal("1.0"), decimal("1"));
        assert_eq!(decimal("-0.0"), decimal("0"));
        assert!(decimal("1.5e1").is_integer() && !decimal("1.5").is_integer());
    }
}
