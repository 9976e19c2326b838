//! Integration tests.

mod import;
mod support;
