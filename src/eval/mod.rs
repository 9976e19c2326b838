//! Asking and judging: a case becomes trials, a trial runs a session and yields a journal, and
//! matching, metrics, gates and baselines are functions over journals.
//!
//! Reading order is the path of a case: `suite`, `prompts`, `case`, `select`, `fixture`, `trial`,
//! `calls`, `expect`, `grade`, `metric`, `gate`, `baseline`, `runner`. Nothing here prints.

pub mod actors;
pub mod availability;
pub mod baseline;
pub mod calls;
pub mod case;
pub mod coverage;
pub mod credentials;
pub mod events;
pub mod evidence;
pub mod expect;
pub mod fixture;
pub mod gate;
pub mod grade;
pub mod home_source;
pub mod interval;
pub mod knobs;
pub mod load;
mod load_cases;
mod load_play;
mod load_settings;
pub mod mcp_source;
pub mod metric;
pub mod outcome;
pub mod play;
pub mod prompts;
pub mod read;
pub mod runner;
pub mod scaffold;
pub mod select;
#[cfg(test)]
mod sketch;
pub mod skill_source;
pub mod suite;
pub mod trial;
