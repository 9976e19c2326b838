//! Good and broken lines of the laws about dispatch, cancellation, retries, the record as a whole.
#![allow(clippy::unwrap_used)]
