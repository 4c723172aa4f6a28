//! How much, in a few letters.

/// A number of bytes: `7 B`, `1.2 kB`, `34 MB`.
#[expect(clippy::cast_precision_loss, reason = "two digits of it are shown")]
pub(in crate::commands) fn short_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut amount = bytes as f64;
    let mut unit = 0;
    // An amount that would be rounded to a thousand is one of the next unit.
    while amount >= 999.5 && unit + 1 < UNITS.len() {
        amount /= 1000.0;
        unit += 1;
    }
    if amount < 9.95 {
        format!("{amount:.1} {}", UNITS[unit])
    } else {
        format!("{amount:.0} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::short_size;

    #[test]
    fn a_size_is_two_digits_and_a_unit() {
        for (bytes, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (9_949, "9.9 kB"),
            (9_950, "10 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (1_300_000_000, "1.3 GB"),
            (u64::MAX, "18447 PB"),
        ] {
            assert_eq!(short_size(bytes), expected);
        }
    }
}
