//! The tokio driver: turns effects into work and work into inputs. It reorders nothing and
//! decides nothing.

use super::machine::{Effect, Input, Lent, Turn, TurnEnd};
use crate::runtime::exec::{self, Workspace};
use crate::runtime::guard::Approver;
use crate::runtime::provider::Provider;

/// Whom a turn talks to.
pub struct Parties<'a> {
    /// Who proposes.
    pub provider: &'a mut dyn Provider,
    /// Who approves.
    pub approver: &'a mut dyn Approver,
    /// Where file tools act.
    pub workspace: &'a mut Workspace,
}

/// Runs one turn to its end.
pub async fn drive(text: String, parties: Parties<'_>, cx: &mut Lent<'_>) -> TurnEnd {
    let mut turn = Turn::default();
    let mut input = Input::Begin { text, provider: parties.provider.name() };
    loop {
        input = match turn.step(input, cx) {
            Effect::Ask(payload) => Input::Replied(parties.provider.reply(&payload).await),
            Effect::Prompt(request) => {
                let channel = parties.approver.channel();
                Input::Answered(parties.approver.answer(&request).await, channel)
            }
            Effect::Start(slot, ready) => {
                let ran = exec::run(&ready, parties.workspace, &cx.resolved.broker).await;
                Input::Finished(slot, ready, ran)
            }
            Effect::Return(end) => return end,
        };
    }
}
