//! Who is shown what happens in a simulated session, and what must be true of every text that
//! leaves: no journal holds it.

use std::sync::{Arc, Mutex, PoisonError};

use super::scene::secret;
use super::swarm::{Kind, Swarm};
use crate::base::secret::SecretSet;
use crate::runtime::surface::{Emission, Limits, Renderer, Sink, Sinks};

/// A sink that fails does so at one of this many emissions.
const FAILS: u64 = 3;

/// What the sinks saw.
#[derive(Debug, Default)]
struct Heard {
    emissions: u64,
    complaints: Vec<String>,
}

/// The sinks of a session and of its delegates.
pub(super) struct Surfaces {
    pub(super) sinks: Sinks,
    limits: Limits,
    heard: Arc<Mutex<Heard>>,
    fails: bool,
}

impl Surfaces {
    /// Sinks as the swarm says; `None` where nobody looks.
    pub(super) fn new(swarm: &mut Swarm) -> Option<Self> {
        if !swarm.has(Kind::Surfaces) {
            return None;
        }
        swarm.note(Kind::Surfaces);
        let fails = swarm.has(Kind::SinkPanics);
        let tight = Limits { observer: 500, stream: 300, progress: 60 };
        let limits = if swarm.has(Kind::Tight) { tight } else { Limits::default() };
        let heard: Arc<Mutex<Heard>> = Arc::default();
        let (own, mut seen) = (Arc::clone(&heard), 0);
        let looks = move |emission: &Emission| listen(&own, &limits, emission);
        let panics = move |_: &Emission| {
            seen += 1;
            if seen % FAILS == 0 {
                // Without the hook's words on the terminal.
                std::panic::resume_unwind(Box::new("the sink is full"));
            }
        };
        let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
        if fails {
            swarm.note(Kind::SinkPanics);
            sinks.push(Box::new(panics));
        }
        // The last one: whoever fails before it must not keep anything from it.
        sinks.push(Box::new(looks));
        Some(Self { sinks: Sinks::new(sinks), limits, heard, fails })
    }

    /// A renderer for one session.
    pub(super) fn renderer(&self, channel: &str, alias: &str, secrets: &SecretSet) -> Renderer {
        Renderer::new(self.limits, channel, alias, secrets.clone())
    }

    /// What was wrong with what left. `recorded`: how many emissions the record says.
    pub(super) fn complaints(self, recorded: u64) -> Vec<String> {
        let failures = self.sinks.failures();
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let mut complaints = std::mem::take(&mut heard.complaints);
        if heard.emissions != recorded {
            let seen = heard.emissions;
            complaints.push(format!("{seen} texts left by surfaces, and {recorded} are recorded"));
        }
        let expected = if self.fails { heard.emissions / FAILS } else { 0 };
        if failures != expected {
            complaints.push(format!("a sink failed {expected} times, and {failures} were counted"));
        }
        complaints
    }
}

fn listen(heard: &Mutex<Heard>, limits: &Limits, emission: &Emission) {
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    heard.emissions += 1;
    let surface = emission.surface.name();
    if emission.text.contains(secret().expose()) {
        heard.complaints.push(format!("a secret left by {surface}"));
    }
    if emission.text.chars().count() > limits.of(emission.surface) {
        heard.complaints.push(format!("a text is too long for {surface}"));
    }
}
