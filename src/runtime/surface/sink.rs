//! Who is shown what leaves.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Emission;
use crate::base::caught::caught_now;

/// Shows emissions: a log, a client, a terminal. It can change nothing about the turn.
pub trait Sink: Send {
    /// Shows one.
    fn emit(&mut self, emission: &Emission);
}

impl<F: FnMut(&Emission) + Send> Sink for F {
    fn emit(&mut self, emission: &Emission) {
        self(emission);
    }
}

/// The sinks of a session, which its delegates share.
#[derive(Default)]
pub struct Sinks {
    sinks: Mutex<Vec<Box<dyn Sink>>>,
    failures: AtomicU64,
}

impl Sinks {
    /// These sinks, shown to in this order.
    pub fn new(sinks: Vec<Box<dyn Sink>>) -> Self {
        Self { sinks: Mutex::new(sinks), failures: AtomicU64::new(0) }
    }

    /// One more, shown to after the others.
    pub fn add(&self, sink: Box<dyn Sink>) {
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner).push(sink);
    }

    /// Whether nobody is shown anything.
    pub fn is_empty(&self) -> bool {
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Shows an emission to all. A sink that panics is counted and keeps nobody from anything.
    pub fn emit(&self, emission: &Emission) {
        let mut sinks = self.sinks.lock().unwrap_or_else(PoisonError::into_inner);
        for sink in sinks.iter_mut() {
            if caught_now(|| sink.emit(emission)).is_err() {
                self.failures.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// How often a sink failed.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }
}
