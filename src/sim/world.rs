//! A world of its own: a clock that moves only when it is told to, ids that are counted.

use crate::base::world::{Millis, World};

/// Virtual time and counted ids.
#[derive(Debug, Clone)]
pub struct SimWorld {
    now: Millis,
    ids: u64,
}

impl Default for SimWorld {
    fn default() -> Self {
        Self { now: 1_000_000, ids: 0 }
    }
}

impl SimWorld {
    /// The present time, without letting any pass.
    pub fn time(&self) -> Millis {
        self.now
    }

    /// Moves the clock, never back.
    pub fn move_to(&mut self, at: Millis) {
        self.now = self.now.max(at);
    }

    /// Lets time pass.
    pub fn pass(&mut self, millis: Millis) {
        self.now = self.now.saturating_add(millis);
    }
}

impl World for SimWorld {
    fn now(&mut self) -> Millis {
        self.now
    }

    fn next_id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}{}", self.ids)
    }
}
