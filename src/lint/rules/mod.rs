//! The rules, by what they read. Each file is a table, and below it the functions of its rows.

pub(super) mod authority;
pub(super) mod constraint;
pub(super) mod document;
pub(super) mod hint;
pub(super) mod list;
pub(super) mod mention;
pub(super) mod name;
pub(super) mod operation;
pub(super) mod profile;
pub(super) mod shape;
pub(super) mod text;
