//! Exit codes: one documented number per reason.

use std::process::{ExitCode, Termination};

/// Why the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything holds.
    Pass = 0,
    /// A gate failed, a law broke, the baseline differs, or a descriptor has errors.
    Fail = 1,
    /// The command line is wrong.
    Usage = 2,
    /// An input file is invalid.
    Inputs = 3,
    /// Nothing was selected.
    NothingSelected = 4,
    /// A gate cannot be decided.
    Undecided = 5,
    /// A provider, a server or the environment failed.
    Environment = 6,
    /// A bug of ours.
    HarnessBug = 7,
    /// The evidence belongs to other descriptors.
    Stale = 8,
    /// Interrupted, from the keyboard or by a request to terminate.
    Interrupted = 130,
}

/// The table that `--help` shows and the README repeats.
pub const HELP: &str = "\
Exit codes:
  0    pass
  1    a gate failed, a law broke, the baseline differs, or a descriptor has errors
  2    usage
  3    inputs invalid
  4    nothing selected
  5    undecidable: inconclusive or incomplete
  6    a provider, a server or the environment failed
  7    a bug of proofmark itself
  8    stale evidence
  130  interrupted";

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self.code())
    }
}
