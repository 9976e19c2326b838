//! All the ways it could go wrong, on purpose.
//!
//! So far it holds the record mutants: journals altered in one place, which the laws must notice.
//! Reading order: `mutant` (what a mutant is, and the table), `mutant::journals` (how records are
//! altered), `mutant::grade` (who was caught).

pub mod mutant;
