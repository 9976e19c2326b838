//! The scene of the simulator, and what it shares with the laws.

use super::*;
use crate::journal::Event;
use crate::law::dsl;
use crate::runtime::sandbox::mechanism::{Mechanism, Reach, demanded};

#[test]
fn the_scene_is_sound() {
    let scene = Scene::new().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scene.registry.len(), TOOLS.len() + 1);
}

/// What the laws want named of a confinement in full is what every plan of one demands.
#[test]
fn laws_and_plans_know_the_same_mechanisms() {
    let can: BTreeSet<Mechanism> = Mechanism::ALL.iter().copied().collect();
    let plan: BTreeSet<&str> =
        demanded(Reach::Open, false, &can).into_iter().map(Mechanism::name).collect();
    let (entries, _) =
        dsl::journal("open; user; view a; model; req 1 a; box 1 enforced=full by=all").unwrap();
    let named = entries.iter().find_map(|entry| match &entry.event {
        Event::ToolSandboxPrepared(fact) => Some(&fact.mechanisms),
        _ => None,
    });
    let named: BTreeSet<&str> = named.unwrap().iter().map(String::as_str).collect();
    assert_eq!(named, plan);
}
