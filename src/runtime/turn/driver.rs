//! The tokio driver: turns effects into work and work into inputs, in the order in which the work
//! ends. It decides nothing.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex as Held, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{Mutex, Notify, mpsc};

use super::machine::{Effect, Input, Lent, Turn, TurnEnd};
use super::slots::Ticket;
use crate::base::caught::caught;
use crate::base::world::{Millis, World};
use crate::journal::{Entry, Journal};
use crate::runtime::BoxFuture;
use crate::runtime::exec::mcp::Links;
use crate::runtime::exec::rehearsal::{self, Rehearsal, Rehearsed};
use crate::runtime::exec::{self, Acts, Delegate, Ended, Workspace};
use crate::runtime::guard::{Approver, Hook, HookCall, HookVerdict};
use crate::runtime::provider::Provider;
use crate::runtime::surface::{Emission, Renderer, Sinks};
use crate::runtime::view::Block;

/// What may come from outside while a turn runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// The turn must end.
    Cancel(String),
    /// The user speaks.
    Steer(String),
    /// This provider answers from here on.
    Switch(String),
    /// This grant is taken back, by this person.
    Revoke(String, String),
    /// This tool may not start any more.
    Block(Block),
}

/// Looks at every entry as it is recorded, and may answer with signals.
pub type Watch<'a> = &'a mut (dyn FnMut(&Entry) -> Vec<Signal> + Send);

/// Who keeps the journals of a session and of its delegates elsewhere than in memory, as they grow.
#[derive(Default)]
pub struct Kept(Held<Option<Keeper>>);

/// Takes what is new of a journal.
pub type Keeper = Box<dyn FnMut(&Journal) + Send>;

impl Kept {
    /// Whoever keeps them from here on.
    pub fn by(&mut self, keeper: Keeper) {
        *self.0.get_mut().unwrap_or_else(PoisonError::into_inner) = Some(keeper);
    }

    /// A journal has grown, or may have.
    pub fn see(&self, journal: &Journal) {
        if let Some(keeper) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            keeper(journal);
        }
    }
}

/// Whom a turn talks to.
pub struct Parties<'a> {
    /// Who proposes, by name.
    pub providers: &'a BTreeMap<Arc<str>, Mutex<Box<dyn Provider>>>,
    /// Who approves.
    pub approver: &'a dyn Approver,
    /// Who looks at calls, by name.
    pub hooks: &'a BTreeMap<String, Arc<dyn Hook>>,
    /// Where file tools act.
    pub workspace: &'a Held<Workspace>,
    /// What simulated tools still have to play.
    pub simulated: &'a Acts,
    /// The links to MCP servers.
    pub links: &'a Links,
    /// What comes from outside.
    pub signals: &'a mut mpsc::UnboundedReceiver<Signal>,
    /// Who keeps the record.
    pub kept: &'a Kept,
    /// Who watches the record.
    pub watch: Watch<'a>,
    /// Who is shown what happens.
    pub shown: Shown<'a>,
    /// Who runs delegates.
    pub delegate: &'a dyn Delegate,
}

/// Who is shown what happens, and how.
pub struct Shown<'a> {
    /// Who.
    pub sinks: &'a Sinks,
    /// How.
    pub renderer: &'a mut Renderer,
}

/// Which work a future does, to find it again.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Job {
    Ask,
    Prompt(String),
    Under(Ticket),
}

struct Work<'a> {
    job: Job,
    stop: Arc<Notify>,
    /// Reaches the turn of a delegate.
    below: Option<mpsc::UnboundedSender<Block>>,
    future: BoxFuture<'a, Input>,
}

/// Runs one turn from its first input to its end.
pub async fn drive(
    mut turn: Turn,
    first: Input,
    parties: Parties<'_>,
    cx: &mut Lent<'_>,
) -> TurnEnd {
    let (mut work, mut wakes): (Vec<Work<'_>>, Vec<Millis>) = (Vec::new(), Vec::new());
    let mut seen = cx.log.journal.entries().len();
    let mut input = first;
    let Parties { signals, watch, mut shown, .. } = parties;
    let others = Others {
        providers: parties.providers,
        approver: parties.approver,
        hooks: parties.hooks,
        around: exec::Around {
            workspace: parties.workspace,
            acts: parties.simulated,
            broker: &cx.resolved.broker,
            links: parties.links,
            now: cx.world.now(),
        },
        hook_ms: cx.resolved.knobs.hook_timeout_ms,
        delegate: parties.delegate,
    };
    let mut own: Vec<Signal> = Vec::new();
    loop {
        let mut end = None;
        for effect in turn.step(input, cx) {
            match effect {
                Effect::Return(how) => end = Some(how),
                Effect::Wake(at) => wakes.push(at),
                Effect::AbandonAsk => work.retain(|one| one.job != Job::Ask),
                Effect::Withdraw(id) => work.retain(|one| one.job != Job::Prompt(id.clone())),
                Effect::Abort(ticket) => abort(&mut work, &ticket),
                Effect::Block(ticket, block) => pass_on(&work, &ticket, &block),
                effect => work.extend(others.begin(effect, cx.world)),
            }
        }
        // Before any of the work goes on: a start is shown and kept before anything runs.
        show(&mut shown, seen, cx);
        parties.kept.see(&cx.log.journal);
        for entry in &cx.log.journal.entries()[seen..] {
            own.extend(watch(entry));
        }
        seen = cx.log.journal.entries().len();
        if let Some(end) = end {
            return end;
        }
        let now = cx.world.now();
        input = if own.is_empty() {
            next(&mut work, &mut wakes, signals, now).await
        } else {
            outside(own.remove(0))
        };
    }
}

/// Shows what was recorded since, and records that it was shown.
pub fn show(shown: &mut Shown<'_>, since: usize, cx: &mut Lent<'_>) {
    if shown.sinks.is_empty() {
        return;
    }
    let journal = &cx.log.journal;
    let new = journal.entries().iter().skip(since);
    let emissions: Vec<Emission> =
        new.flat_map(|entry| shown.renderer.render(entry, journal.blobs())).collect();
    for emission in emissions {
        shown.sinks.emit(&emission);
        cx.log.aside(cx.world, (&emission.call, emission.of), emission.fact());
    }
}

fn outside(signal: Signal) -> Input {
    match signal {
        Signal::Cancel(cause) => Input::Cancel(cause),
        Signal::Steer(text) => Input::Steered(text),
        Signal::Switch(to) => Input::Switched(to.into()),
        Signal::Revoke(grant, by) => Input::Revoked(grant, by),
        Signal::Block(block) => Input::Blocked(block),
    }
}

/// A call is told to stop and answers itself; anything else is dropped.
fn abort(work: &mut Vec<Work<'_>>, ticket: &Ticket) {
    let under = Job::Under(ticket.clone());
    work.iter().filter(|one| one.job == under).for_each(|one| one.stop.notify_one());
}

/// What holds for a session holds for its delegates. One that is over needs no telling.
fn pass_on(work: &[Work<'_>], ticket: &Ticket, block: &Block) {
    let under = Job::Under(ticket.clone());
    let below = work.iter().filter(|one| one.job == under).filter_map(|one| one.below.as_ref());
    below.for_each(|below| drop(below.send(block.clone())));
}

/// The next input: signals first, then whatever work ends, then the clock.
async fn next(
    work: &mut Vec<Work<'_>>,
    wakes: &mut Vec<Millis>,
    signals: &mut mpsc::UnboundedReceiver<Signal>,
    now: Millis,
) -> Input {
    let ended = poll_fn(|cx| {
        for place in 0..work.len() {
            if let Poll::Ready(input) = work[place].future.as_mut().poll(cx) {
                drop(work.swap_remove(place));
                return Poll::Ready(input);
            }
        }
        Poll::Pending
    });
    let wake = wakes.iter().copied().min();
    let sleep = Duration::from_millis(wake.map_or(0, |at| at.saturating_sub(now)));
    tokio::select! {
        biased;
        Some(signal) = signals.recv() => outside(signal),
        input = ended => input,
        () = async { tokio::time::sleep(sleep).await }, if wake.is_some() => {
            wakes.retain(|at| Some(*at) != wake);
            Input::Elapsed
        }
    }
}

struct Others<'a> {
    providers: &'a BTreeMap<Arc<str>, Mutex<Box<dyn Provider>>>,
    approver: &'a dyn Approver,
    hooks: &'a BTreeMap<String, Arc<dyn Hook>>,
    around: exec::Around<'a>,
    /// How long a hook may take.
    hook_ms: u64,
    delegate: &'a dyn Delegate,
}

impl<'a> Others<'a> {
    /// Work for an effect; none for effects that are done at once.
    fn begin(&self, effect: Effect, world: &mut dyn World) -> Option<Work<'a>> {
        let stop = Arc::new(Notify::new());
        let mut below = None;
        let (job, future): (Job, BoxFuture<'a, Input>) = match effect {
            Effect::Ask(name, payload) => {
                let provider = self.providers.get(&name);
                (Job::Ask, Box::pin(ask(provider, name, payload)))
            }
            Effect::Prompt(request) => {
                let approver = self.approver;
                let job = Job::Prompt(request.id.clone());
                let future = async move {
                    Input::Answered(approver.answer(&request).await, approver.channel())
                };
                (job, Box::pin(future))
            }
            Effect::RunHook(ticket, call) => self.look(ticket, call, Arc::clone(&stop)),
            Effect::Inspect(ticket, files) => {
                let workspace = self.around.workspace;
                let under = ticket.clone();
                let future = async move {
                    let digest = exec::operand(&files, workspace);
                    Input::Inspected(ticket, digest)
                };
                (Job::Under(under), Box::pin(future))
            }
            Effect::Rehearse(ticket, planned) => self.rehearse(ticket, planned, Arc::clone(&stop)),
            Effect::Start(ticket, ready, view) => {
                let around = exec::Around { now: world.now(), ..self.around };
                let (under, stopped) = (ticket.clone(), Arc::clone(&stop));
                let future = async move {
                    if let Some(found) =
                        exec::search::call(&ready, &view.view.waiting, || view.index())
                    {
                        return Input::Finished(ticket, found);
                    }
                    match exec::run(&ready, around, &stopped).await {
                        Ended::Ran(ran) => Input::Finished(ticket, *ran),
                        Ended::TornDown(how) => Input::TornDown(ticket, how.to_owned()),
                    }
                };
                (Job::Under(under), Box::pin(future))
            }
            Effect::Delegate(ticket, request) => {
                let (delegate, own) = (self.delegate, world.fork());
                let (send, above) = mpsc::unbounded_channel();
                below = Some(send);
                let (under, stopped) = (ticket.clone(), Arc::clone(&stop));
                let future = async move {
                    let result = delegate.run(*request, own, (above, &stopped)).await;
                    Input::Delegated(ticket, Box::new(result))
                };
                (Job::Under(under), Box::pin(future))
            }
            Effect::AbandonAsk
            | Effect::Withdraw(_)
            | Effect::Abort(_)
            | Effect::Block(..)
            | Effect::Wake(_)
            | Effect::Return(_) => return None,
        };
        Some(Work { job, stop, below, future })
    }

    fn look(
        &self,
        ticket: Ticket,
        call: Box<HookCall>,
        stop: Arc<Notify>,
    ) -> (Job, BoxFuture<'a, Input>) {
        let (hook, limit) = (self.hooks.get(&call.hook).cloned(), self.hook_ms);
        let under = ticket.clone();
        let future = async move {
            let verdict = hooked(hook, &call, limit, &stop).await;
            Input::Hooked(ticket, verdict)
        };
        (Job::Under(under), Box::pin(future))
    }

    fn rehearse(
        &self,
        ticket: Ticket,
        planned: Box<Rehearsal>,
        stop: Arc<Notify>,
    ) -> (Job, BoxFuture<'a, Input>) {
        let (around, limit) = (self.around, self.hook_ms);
        let under = ticket.clone();
        let future = async move {
            let found = rehearsed(&planned, (around, limit), &stop).await;
            Input::Rehearsed(ticket, found)
        };
        (Job::Under(under), Box::pin(future))
    }
}

async fn ask(
    provider: Option<&Mutex<Box<dyn Provider>>>,
    name: Arc<str>,
    payload: crate::runtime::dialect::Payload,
) -> Input {
    let Some(provider) = provider else {
        let message = format!("there is no provider `{name}`");
        return Input::Replied(Err(crate::runtime::provider::harness_fault(message)));
    };
    Input::Replied(provider.lock().await.reply(&payload).await)
}

/// A rehearsal that panics or takes as long as no hook may has found nothing.
async fn rehearsed(
    planned: &Rehearsal,
    (around, limit): (exec::Around<'_>, u64),
    stop: &Notify,
) -> Rehearsed {
    let nothing =
        |why: String| Rehearsed { text: format!("the rehearsal failed: {why}"), lines: None };
    tokio::select! {
        biased;
        found = caught(rehearsal::rehearse(planned, around, stop)) => found.unwrap_or_else(nothing),
        () = async { tokio::time::sleep(Duration::from_millis(limit)).await } => {
            nothing(format!("no end within {limit} ms"))
        }
    }
}

/// A hook that panics, takes too long or is not there has failed.
async fn hooked(
    hook: Option<Arc<dyn Hook>>,
    call: &HookCall,
    limit: u64,
    stop: &Notify,
) -> HookVerdict {
    let failed = |why: String| HookVerdict::Failed { why };
    let Some(hook) = hook else { return failed(format!("there is no hook `{}`", call.hook)) };
    tokio::select! {
        biased;
        () = stop.notified() => failed("it was stopped".to_owned()),
        said = caught(async { hook.run(call).await }) => said.unwrap_or_else(failed),
        () = async { tokio::time::sleep(Duration::from_millis(limit)).await } => {
            failed(format!("no answer within {limit} ms"))
        }
    }
}
