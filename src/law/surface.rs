//! Surfaces: what leaves for people and observers is bounded, and its cards belong together.

use super::index::{Call, Seen};
use super::law::{Scene, Tally};
use crate::base::digest::Digest;
use crate::journal::event::call::*;

/// A, "observer, log and progress surfaces are scrubbed and bounded": whatever names a limit stays
/// within it.
pub(super) fn surfaces_bounded(scene: &mut Scene<'_>, tally: &mut Tally) {
    for shown in scene.index.each::<SurfaceEmitted>() {
        let Some(limit) = shown.fact.limit else { continue };
        tally.checked();
        if shown.fact.chars > limit {
            let message = format!(
                "{} characters left by a surface that is bounded to {limit}",
                shown.fact.chars
            );
            tally.broken(shown.entry.call.as_deref(), &[shown.seq()], message);
        }
    }
}

/// A card that was opened: its surface, its correlation, its entry.
type Card<'a> = (&'a str, Option<Digest>, u64);

/// A, "the pending card is emitted right before the tool runs, and its result with the same
/// correlation": an end closes one start of its call on its surface, with the same correlation;
/// and a call that never ran has no start.
pub(super) fn surfaces_correlated(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        let mut open: Vec<Card<'_>> = Vec::new();
        for shown in call.each::<SurfaceEmitted>() {
            match shown.fact.phase.as_deref() {
                Some("start") => {
                    opened(call, shown, tally);
                    open.push((&shown.fact.surface, shown.fact.correlation, shown.seq()));
                }
                Some("end") => closed(call, shown, &mut open, tally),
                _ => {}
            }
        }
    }
}

fn opened(call: &Call<'_>, shown: Seen<'_, SurfaceEmitted>, tally: &mut Tally) {
    let ran =
        call.first::<ToolCallStarted>().is_some() || call.first::<ToolCallFinished>().is_some();
    let Some(settled) = call.first::<ToolCallSettled>() else { return };
    tally.checked();
    if !ran {
        let message = "a card was opened for a call that never ran".into();
        tally.broken(Some(call.id), &[shown.seq(), settled.seq()], message);
    }
}

fn closed(
    call: &Call<'_>,
    shown: Seen<'_, SurfaceEmitted>,
    open: &mut Vec<Card<'_>>,
    tally: &mut Tally,
) {
    tally.checked();
    let surface = |card: &Card<'_>| card.0 == shown.fact.surface;
    let own = open.iter().position(|card| surface(card) && card.1 == shown.fact.correlation);
    let place = own.or_else(|| open.iter().position(surface));
    let card = place.map(|place| open.remove(place));
    let (events, message) = match card {
        Some(_) if own.is_some() => return,
        Some((_, _, start)) => {
            (vec![start, shown.seq()], "a card was closed with another correlation")
        }
        None => (vec![shown.seq()], "a card was closed that was not open"),
    };
    tally.broken(Some(call.id), &events, message.into());
}
