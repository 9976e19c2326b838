//! Other people's recorded model outputs, scored under the rules of their own benchmark and
//! compared verdict by verdict with what was published. Rules, orders and quirks are theirs; ours
//! stay apart.
//!
//! Nothing of a benchmark is in the program but its rules: outputs, gold and verdicts are read from
//! a folder of outside data, one folder for each benchmark.

mod asb;
pub mod bfcl;
mod livemcpbench;
mod mcpeval;
mod mcpmark;
pub mod python;
mod read;
mod tau;
mod tau2;

use std::path::PathBuf;

use serde::Serialize;

use crate::base::problem::{Position, Problem};

/// One published verdict that is not ours.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Difference {
    /// The item, as its benchmark names it.
    pub id: String,
    /// Whose output it is; a judge where judges are compared.
    pub model: String,
    /// What was published.
    pub published: String,
    /// What its rules say here.
    pub ours: String,
}

/// How many of something were compared, and how many were equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Count {
    /// Compared.
    pub items: usize,
    /// Equal.
    pub equal: usize,
}

/// What a comparison came to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Replica {
    /// The set.
    pub set: String,
    /// The rules, by name.
    pub profile: String,
    /// Published verdicts that were compared.
    pub items: usize,
    /// Those that are equal.
    pub equal: usize,
    /// Those that are not.
    pub different: usize,
    /// Cells of published tables that follow from the verdicts.
    pub cells: Count,
    /// Everything that is not equal: verdicts first, then cells.
    pub differences: Vec<Difference>,
}

impl Replica {
    /// Nothing compared yet.
    fn of(set: &Set) -> Self {
        Self { set: set.name.to_owned(), profile: set.profile.to_owned(), ..Self::default() }
    }

    /// Compares one verdict.
    fn verdict(&mut self, who: (&str, &str), published: &str, ours: &str) {
        self.items += 1;
        match published == ours {
            true => self.equal += 1,
            false => {
                self.different += 1;
                self.differs(who, published, ours);
            }
        }
    }

    /// Compares one cell of a table.
    fn cell(&mut self, who: (&str, &str), published: &str, ours: &str) {
        self.cells.items += 1;
        match published == ours {
            true => self.cells.equal += 1,
            false => self.differs(who, published, ours),
        }
    }

    fn differs(&mut self, (id, model): (&str, &str), published: &str, ours: &str) {
        let (id, model) = (id.to_owned(), model.to_owned());
        let (published, ours) = (published.to_owned(), ours.to_owned());
        self.differences.push(Difference { id, model, published, ours });
    }

    /// Whether every verdict and every cell is equal.
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Where a set's files are.
#[derive(Debug, Clone)]
pub struct Source {
    /// The folder of outside data.
    pub data: PathBuf,
    /// Another file of recorded outputs than the set's own.
    pub replay: Option<PathBuf>,
}

impl Source {
    fn file(&self, path: &str) -> PathBuf {
        self.data.join(path)
    }

    /// The recorded outputs: the file that was named, or the set's own.
    fn recorded(&self, path: &str) -> PathBuf {
        self.replay.clone().unwrap_or_else(|| self.file(path))
    }
}

/// A set of recorded outputs with published verdicts.
#[derive(Debug, Clone, Copy)]
pub struct Set {
    /// Its name.
    pub name: &'static str,
    /// Whose rules, in which version.
    pub profile: &'static str,
    /// What is compared, in a line.
    pub about: &'static str,
    run: fn(&Set, &Source) -> Result<Replica, Problem>,
}

/// All sets.
pub const SETS: &[Set] = &[
    Set {
        name: "bfcl",
        profile: "bfcl-2024-08",
        about: "Berkeley Function Calling Leaderboard, August 2024: verdict and error type, table",
        run: bfcl::first,
    },
    Set {
        name: "bfcl-v4",
        profile: "bfcl-v4",
        about: "Berkeley Function Calling Leaderboard, version 4: verdict and error type",
        run: bfcl::fourth,
    },
    Set {
        name: "asb",
        profile: "asb",
        about: "Agent Security Bench: attack and original task of each transcript",
        run: asb::run,
    },
    Set {
        name: "tau",
        profile: "tau-bench",
        about: "tau-bench, airline: pass^1 to pass^4",
        run: tau::run,
    },
    Set {
        name: "tau2",
        profile: "tau2-bench",
        about: "tau2-bench: whether each expected action was taken",
        run: tau2::run,
    },
    Set {
        name: "mcpeval",
        profile: "mcpeval",
        about: "MCPEval: names, parameters, order and their sum, strict and flexible",
        run: mcpeval::run,
    },
    Set {
        name: "livemcpbench",
        profile: "livemcpbench",
        about: "LiveMCPBench: each judge's agreement with people, and success rates",
        run: livemcpbench::run,
    },
    Set {
        name: "mcpmark",
        profile: "mcpmark",
        about: "MCPMark: pass@1 with its deviation, pass@4, pass^4 of each model and service",
        run: mcpmark::run,
    },
];

/// The set of a name.
///
/// # Errors
/// There is none; the nearest name is said.
pub fn set(name: &str) -> Result<&'static Set, Problem> {
    let known = || SETS.iter().map(|set| set.name);
    SETS.iter().find(|set| set.name == name).ok_or_else(|| {
        Problem::new(name, Position::default(), "there is no such set").suggest(name, known())
    })
}

impl Set {
    /// Scores the set's recorded outputs and compares.
    ///
    /// # Errors
    /// A file that is missing, or a line that cannot be read, with its place.
    pub fn replicate(&self, source: &Source) -> Result<Replica, Problem> {
        (self.run)(self, source)
    }
}

/// A share in percent with so many decimals, as published tables write it.
fn percent(share: f64, decimals: usize) -> String {
    format!("{:.decimals$}", share * 100.0)
}
