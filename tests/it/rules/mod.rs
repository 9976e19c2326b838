//! Rules of the lifecycle that no reported fault speaks about, each shown on a turn of its own.

mod asking;
mod running;

use proofmark::journal::{Event, Journal};
use proofmark::tool::descriptor::Descriptor;

use crate::faults::hand::Hand;
use crate::faults::record::about;
use crate::faults::scene::Play;

/// A turn with these tools.
pub fn hand(tools: Vec<Descriptor>) -> Hand {
    Hand::new(Play::new(tools, Vec::new()))
}

/// What the facts of one call say, where they say something.
fn facts<T>(journal: &Journal, place: usize, read: impl Fn(&Event) -> Option<T>) -> Vec<T> {
    about(journal, place).into_iter().filter_map(|entry| read(&entry.event)).collect()
}
