//! Good and broken lines of the laws about guards, approvals, availability, what an outcome says.
#![allow(clippy::unwrap_used)]
