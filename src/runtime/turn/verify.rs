//! Verifiers look at a result before it counts: those of the descriptor, and those that see every
//! tool. They look at failed results too, whose fault stays.

use std::collections::VecDeque;
use std::sync::Arc;

use super::machine::{Effect, Lent, Turn};
use super::prepare::record_hook;
use super::slots::{Stage, Ticket};
use crate::journal::event::call::Check;
use crate::runtime::exec::{Ran, Ready};
use crate::runtime::guard::{HookCall, HookSpec, HookVerdict, Point};

/// A call that ended, and the verifiers that have not looked at it.
type Ended = (Arc<Ready>, Box<Ran>, VecDeque<Arc<HookSpec>>);

impl Turn {
    /// A call has its result: verifiers look at it, then it is settled.
    pub(super) fn conclude(&mut self, slot: usize, ready: Arc<Ready>, ran: Ran, cx: &mut Lent<'_>) {
        let hooks = &cx.resolved.hooks;
        let tool = ready.permitted().validated().resolved().tool();
        let mut left: VecDeque<Arc<HookSpec>> = hooks.global(Point::Verify).collect();
        left.extend(hooks.own(Point::Verify, &tool.descriptor.hooks.verifier));
        let ended = (ready, Box::new(ran), left);
        match self.cancelled {
            // What came while it was torn down is not looked at any more.
            Some(_) => self.unlooked(slot, ended, Vec::new(), cx),
            None => self.look_at(slot, ended, Vec::new(), cx),
        }
    }

    fn look_at(
        &mut self,
        slot: usize,
        (ready, ran, left): Ended,
        checks: Vec<Check>,
        cx: &mut Lent<'_>,
    ) {
        let Some(spec) = left.front() else {
            return self.concluded(slot, (ready, *ran), &checks, cx);
        };
        let validated = ready.permitted().validated();
        let outcome = if ran.fault.is_none() { "succeeded" } else { "failed" };
        let given = (outcome, cx.redact(&ran.output).into());
        let call = HookCall::after(spec, self.slots.call(slot), validated, given);
        let ticket = self.verifying(slot, &checks);
        self.slots.put(slot, Stage::Verifying { ready, ran, left, checks });
        self.out.push(Effect::RunHook(ticket, Box::new(call)));
    }

    /// The ticket of the verifier that looks now.
    pub(super) fn verifying(&self, slot: usize, checks: &[Check]) -> Ticket {
        self.ticket(slot, u32::try_from(checks.len() + 1).unwrap_or(u32::MAX))
    }

    /// What one verifier found.
    pub(super) fn checked(
        &mut self,
        ticket: &Ticket,
        (ready, ran, mut left): Ended,
        (mut checks, verdict): (Vec<Check>, HookVerdict),
        cx: &mut Lent<'_>,
    ) {
        let slot = ticket.slot;
        if *ticket != self.verifying(slot, &checks) {
            return self.slots.put_back(slot, Stage::Verifying { ready, ran, left, checks });
        }
        checks.extend(left.pop_front().map(|spec| self.found(slot, &spec, verdict, cx)));
        self.look_at(slot, (ready, ran, left), checks, cx);
    }

    /// The turn was cancelled: verifiers are not waited for, and have not passed the result.
    pub(super) fn unlooked(
        &mut self,
        slot: usize,
        (ready, ran, left): Ended,
        mut checks: Vec<Check>,
        cx: &mut Lent<'_>,
    ) {
        for spec in left {
            let why = "the turn was cancelled".to_owned();
            checks.push(self.found(slot, &spec, HookVerdict::Failed { why }, cx));
        }
        self.concluded(slot, (ready, *ran), &checks, cx);
    }

    fn found(
        &self,
        slot: usize,
        spec: &HookSpec,
        verdict: HookVerdict,
        cx: &mut Lent<'_>,
    ) -> Check {
        let verdict = match verdict {
            HookVerdict::Rewrite { .. } => {
                HookVerdict::Failed { why: "it wanted to rewrite".to_owned() }
            }
            other => other,
        };
        record_hook(&self.slots.call(slot), spec, &verdict, cx);
        let check = (cx.steps.check)(spec, &verdict);
        let message = check.message.as_deref().map(|text| cx.redact(text));
        Check { message, ..check }
    }
}
