//! The only door to time and fresh names. Everything that decides takes a `World`; nothing reads
//! the clock by itself, so that a simulated world can own every choice.

use rand::TryRng;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch.
pub type Millis = u64;

/// Time and ids.
pub trait World: Send {
    /// The present time.
    fn now(&mut self) -> Millis;

    /// A name not given before in this world, `<kind><number>`.
    fn next_id(&mut self, kind: &str) -> String;

    /// A world of its own for a part of this one: its names are none that this world, or another
    /// part of it, gives.
    fn fork(&mut self) -> Box<dyn World> {
        let within = format!("{}.", self.next_id(""));
        Box::new(RealWorld { within, ids: 0 })
    }
}

/// The machine's own clock; ids are counted, so that a session's ids are the same in every run.
#[derive(Debug, Default)]
pub struct RealWorld {
    within: String,
    ids: u64,
}

impl World for RealWorld {
    fn now(&mut self) -> Millis {
        wall_clock()
    }

    fn next_id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}{}{}", self.within, self.ids)
    }
}

/// The wall clock, for report names and file times.
#[expect(clippy::disallowed_methods, reason = "this is the door to the clock")]
pub fn wall_clock() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A word that nobody can guess: 128 bits of the system's chance.
///
/// # Errors
/// When the system has none to give.
pub fn unguessable() -> Result<String, String> {
    let mut bytes = [0; 16];
    rand::rngs::SysRng.try_fill_bytes(&mut bytes).map_err(|error| error.to_string())?;
    Ok(super::digest::hex(&bytes))
}

/// A running stopwatch.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts it.
    #[expect(clippy::disallowed_methods, reason = "this is the door to the clock")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// One environment variable, for settings the documentation names.
#[expect(clippy::disallowed_methods, reason = "this is the door to the environment")]
pub fn env_var(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts_are_their_own() {
        let mut world = RealWorld::default();
        assert_eq!(world.next_id("t"), "t1");
        let (mut one, mut other) = (world.fork(), world.fork());
        let mut deeper = one.fork();
        let names = [one.next_id("t"), other.next_id("t"), deeper.next_id("t"), world.next_id("t")];
        assert_eq!(names, ["t2.2", "t3.1", "t2.1.1", "t4"]);
    }
}
