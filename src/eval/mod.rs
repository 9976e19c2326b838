//! Asking and judging.

pub mod scaffold;
