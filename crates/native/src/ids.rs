//! Ids that nothing else has.

use std::hash::{BuildHasher as _, RandomState};

/// A random UUID of version 4. The standard library's hashers have random keys, which is chance enough for a name.
pub fn random_uuid() -> String {
    let bits = || u128::from(RandomState::new().hash_one(0));
    let bits = bits() << 64 | bits();
    let version = bits & !(0xF << 76) | 4 << 76;
    let variant = version & !(0b11 << 62) | 0b10 << 62;
    let hex = format!("{variant:032x}");
    let groups = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    groups.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_the_shape_of_a_uuid_and_is_new() {
        let id = random_uuid();
        assert_eq!(id.len(), 36);
        assert_eq!(&id[14..15], "4");
        assert!("89ab".contains(&id[19..20]), "{id}");
        assert_ne!(id, random_uuid());
    }
}
