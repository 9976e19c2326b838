//! What a call would do: found before somebody is asked about it, and once more just before it
//! starts. What was confirmed is what was shown, or the call does not start.

use std::sync::Arc;

use super::machine::{Effect, Lent, Turn};
use super::slots::{Stage, Ticket};
use crate::base::digest::Digest;
use crate::journal::Blobs;
use crate::journal::outcome::Denier;
use crate::runtime::exec::{Ready, Rehearsal, Rehearsed};
use crate::runtime::guard::Validated;
use crate::runtime::policy::{Decision, Judgement};
use crate::tool::effect::EffectClass;
use crate::tool::risk::Level;

impl Turn {
    /// The rehearsal of a call that somebody will be asked about, or whose change may be so large
    /// that somebody will.
    pub(super) fn to_rehearse(
        &self,
        validated: &Validated,
        judgement: &Judgement,
        cx: &Lent<'_>,
    ) -> Option<Box<Rehearsal>> {
        let tool = validated.resolved().tool();
        let asks = matches!(judgement.decision, Decision::Ask | Decision::StrongAsk);
        let may_be_large = cx.resolved.knobs.confirm_diff_lines.is_some()
            && tool.level == Level::L2
            && judgement.decision == Decision::Allow;
        let changes = tool.class > EffectClass::Read;
        if !changes || !(asks || may_be_large) {
            return None;
        }
        Rehearsal::of(tool, validated.args(), &cx.resolved.environment).map(Box::new)
    }

    pub(super) fn rehearse(
        &mut self,
        slot: usize,
        judged: (Validated, Judgement, bool),
        rehearsal: Box<Rehearsal>,
    ) {
        let ticket = self.ticket(slot, 0);
        self.slots.put(slot, Stage::Rehearsing(Box::new(judged)));
        self.out.push(Effect::Rehearse(ticket, rehearsal));
    }

    /// Before the start: what a confirmed call would do is found out again.
    pub(super) fn review(
        &mut self,
        slot: usize,
        (ready, operand): (Arc<Ready>, Option<Digest>),
        cx: &mut Lent<'_>,
    ) {
        let (asked, validated) = (self.slots.get(slot).asked, ready.permitted().validated());
        let shown = self.slots.get(slot).rehearsal.is_some();
        let again = (asked && shown).then(|| {
            let tool = validated.resolved().tool();
            Rehearsal::of(tool, validated.args(), &cx.resolved.environment)
        });
        match again.flatten() {
            Some(rehearsal) => {
                let ticket = self.ticket(slot, 1);
                self.slots.put(slot, Stage::Reviewing(ready, operand));
                self.out.push(Effect::Rehearse(ticket, Box::new(rehearsal)));
            }
            None => self.launch(slot, (ready, 1), operand, cx),
        }
    }

    /// What a call would do was found out, for the question or for the start.
    pub(super) fn rehearsed(&mut self, ticket: &Ticket, found: &Rehearsed, cx: &mut Lent<'_>) {
        if !self.current(ticket) {
            return;
        }
        let (slot, text) = (ticket.slot, Arc::<str>::from(cx.redact(&found.text)));
        match self.slots.take(slot) {
            Stage::Rehearsing(held) => {
                let (validated, mut judgement, beyond) = *held;
                let tool = validated.resolved().tool();
                // Where a rule allows the call, it has said what it thinks of it.
                let open = judgement.decision == Decision::Allow && judgement.rules.is_empty();
                let large = (cx.steps.large_change)(found, tool, &cx.resolved.knobs);
                if let Some(why) = large.filter(|_| open) {
                    judgement.decision = Decision::Ask;
                    judgement.reasons.insert(0, why);
                }
                self.slots.get_mut(slot).rehearsal = Some(text);
                self.judged(slot, (validated, judgement, beyond), cx);
            }
            Stage::Reviewing(ready, operand) => {
                self.reviewed(slot, (ready, operand), text, cx);
            }
            other => return self.slots.put_back(slot, other),
        }
        self.advance(cx);
    }

    fn reviewed(
        &mut self,
        slot: usize,
        (ready, operand): (Arc<Ready>, Option<Digest>),
        found: Arc<str>,
        cx: &mut Lent<'_>,
    ) {
        let tool = Arc::clone(ready.permitted().validated().resolved().tool());
        if self.bars(slot, tool.id(), cx) {
            return;
        }
        let shown = self.slots.get_mut(slot).rehearsal.replace(Arc::clone(&found));
        let same = shown.is_some_and(|shown| (cx.steps.same_rehearsal)(&shown, &found));
        if same {
            return self.launch(slot, (ready, 1), operand, cx);
        }
        let why = "what it would do is not any more what was shown when it was approved".to_owned();
        self.deny(slot, Denier::ApprovalMismatch, why, cx);
    }
}

/// The name of a text that is kept beside the journal, or only named where it may not be.
pub(super) fn kept(text: Arc<str>, keep: bool, cx: &mut Lent<'_>) -> Digest {
    if keep { cx.log.journal.put_blob(text) } else { Blobs::name(&text) }
}
