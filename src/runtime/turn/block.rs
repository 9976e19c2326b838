//! What a block does to a turn that runs: calls of the tool that have not started never do, and no
//! delegate's either. What runs is left alone, and is not tried again.

use std::sync::Arc;

use super::machine::{Effect, Lent, Turn};
use super::slots::Stage;
use crate::journal::outcome::Denier;
use crate::runtime::resolved::CompiledView;
use crate::runtime::view::Block;
use crate::tool::id::ToolId;

/// Why a call of a blocked tool does not run.
const BLOCKED: &str = "the tool was blocked before the call could start";

impl Turn {
    /// A tool is blocked: a fact, also behind the end of the turn.
    pub(super) fn blocked(&mut self, block: Block, cx: &mut Lent<'_>) {
        if !cx.blocks.add(block.tool.clone()) {
            return;
        }
        let fact = block.clone().fact(|text| cx.redact(text));
        cx.fact(fact);
        for slot in 0..self.slots.len() {
            self.block_slot(slot, &block, cx);
        }
        self.advance(cx);
    }

    /// A question about the tool is moot, and a delegate must know. A call that waits for its start
    /// is looked at when its time comes.
    fn block_slot(&mut self, slot: usize, block: &Block, cx: &mut Lent<'_>) {
        match &self.slots.get(slot).stage {
            Stage::Asking(validated, request) => {
                let tool = Arc::clone(validated.resolved().tool());
                let withdraw = Effect::Withdraw(request.id.clone());
                if self.bars(slot, tool.id(), cx) {
                    self.out.push(withdraw);
                }
            }
            Stage::Running { ready, attempt, .. }
                if ready.plan().adapter == super::child::DELEGATE =>
            {
                let ticket = self.ticket(slot, *attempt);
                self.out.push(Effect::Block(ticket, block.clone()));
            }
            _ => {}
        }
    }

    /// Refuses a call that has not started when its tool is blocked. Whether it was.
    pub(super) fn bars(&mut self, slot: usize, tool: &ToolId, cx: &mut Lent<'_>) -> bool {
        let blocked = (cx.steps.is_blocked)(cx.blocks, tool);
        if blocked {
            self.deny(slot, Denier::ToolBlocked, BLOCKED.to_owned(), cx);
        }
        blocked
    }

    /// The view of the present request as a search may look at it: what was blocked since waits no
    /// more.
    pub(super) fn searched(view: Arc<CompiledView>, cx: &Lent<'_>) -> Arc<CompiledView> {
        let free = |id: &ToolId| !(cx.steps.is_blocked)(cx.blocks, id);
        if view.view.waiting.iter().all(|lease| free(lease.tool.id())) {
            return view;
        }
        Arc::new(view.with(view.view.waiting_for(free)))
    }
}
