//! Reading enums that are distinguished by one member.
//!
//! Serde's own internally tagged enums buffer their input, which loses digits and breaks tokens. Here the tag is looked up
//! first and the exact struct is read after.

/// Implements `Deserialize` for an enum by looking at the member `$tag` first. Any other value goes to the `$unknown` variant.
macro_rules! read_by_tag {
    ($name:ident, $tag:literal, { $($word:literal => $variant:ident,)+ }, else $unknown:ident) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let whole = crate::Json::deserialize(deserializer)?;
                let tag = whole.token().get($tag).and_then(lapidary_json::Token::string);
                match tag.as_deref() {
                    $(Some($word) => serde_json::from_str(whole.as_str()).map(Self::$variant),)+
                    _ => return Ok(Self::$unknown(whole)),
                }
                .map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use read_by_tag;
