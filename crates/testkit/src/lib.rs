//! Captures, corpora and fuzz targets for the tests.
