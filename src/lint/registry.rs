//! All rules, in the order in which they are told.

use super::rule::Rule;
use super::rules::{
    authority, constraint, document, hint, list, mention, name, operation, profile, shape, text,
};

static TABLES: [&[Rule]; 11] = [
    &shape::RULES,
    &constraint::RULES,
    &name::RULES,
    &text::RULES,
    &list::RULES,
    &mention::RULES,
    &operation::RULES,
    &hint::RULES,
    &authority::RULES,
    &document::RULES,
    &profile::RULES,
];

/// Every rule.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The rule of this name.
pub fn rule(name: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.name == name)
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
