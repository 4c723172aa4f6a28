//! TypeScript types, made from the JSON Schemas.
