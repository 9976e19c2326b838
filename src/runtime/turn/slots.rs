//! One slot per proposed call, fixed when the reply is parsed. A slot is settled exactly once.

use std::sync::Arc;

use crate::journal::Outcome;

/// The end of one call, as the transcript will show it.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotEnd {
    /// The outcome.
    pub outcome: Outcome,
    /// What the model is shown.
    pub shown: Arc<str>,
    /// Whether the middle of it was cut.
    pub cut: bool,
}

#[derive(Debug)]
struct Slot {
    call: Arc<str>,
    end: Option<SlotEnd>,
}

/// The ordered results of a batch.
#[derive(Debug, Default)]
pub struct Slots {
    slots: Vec<Slot>,
}

impl Slots {
    /// One open slot per call, in model order.
    pub fn for_batch(calls: impl Iterator<Item = Arc<str>>) -> Self {
        Self { slots: calls.map(|call| Slot { call, end: None }).collect() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The call of a slot.
    pub fn call(&self, slot: usize) -> Arc<str> {
        Arc::clone(&self.slots[slot].call)
    }

    /// Settles a slot.
    ///
    /// # Panics
    /// When it is settled already: a bug of ours, never input.
    pub fn settle(&mut self, slot: usize, end: SlotEnd) {
        let place = &mut self.slots[slot].end;
        assert!(place.is_none(), "slot {slot} is settled twice");
        *place = Some(end);
    }

    /// Takes all ends in an order of slots, with their calls.
    ///
    /// # Panics
    /// When a slot is still open: a bug of ours, never input.
    pub fn drain(&mut self, order: &[usize]) -> Vec<(Arc<str>, SlotEnd)> {
        assert!(self.slots.iter().all(|slot| slot.end.is_some()), "a slot is still open");
        let mut slots: Vec<Option<Slot>> =
            std::mem::take(&mut self.slots).into_iter().map(Some).collect();
        order
            .iter()
            .filter_map(|index| slots.get_mut(*index)?.take())
            .filter_map(|slot| slot.end.map(|end| (slot.call, end)))
            .collect()
    }
}
