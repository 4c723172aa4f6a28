//! Tests of the kit itself, and the fuzz targets on stable.

mod replay;
