//! Other people's formats, field for field.
