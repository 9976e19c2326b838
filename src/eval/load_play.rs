//! Reading what a case plays beside the model's words: envelope, hooks, answers, signals, acts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::availability::Place;
use super::case::CaseEntry;
use super::load_cases::known;
use super::play::{
    ActEntry, ActionName, AnswerName, ApprovalEntry, EnvelopeEntry, HookEnd, HookEntry,
    PlayedAnswer, PlayedHook, PlayedSignal, ReachName, SignalEntry, What,
};
use crate::base::problem::Problem;
use crate::journal::Event;
use crate::runtime::catalog::alias;
use crate::runtime::exec::simulated::{Act, Fate};
use crate::runtime::guard::{AnswerScope, Envelope, HookSpec, HookVerdict, Verdict};
use crate::runtime::sandbox::adapter::Adapter;
use crate::tool::id::ToolId;

/// A place in a case, and the problems found there.
pub(super) struct Reader<'a> {
    /// The case.
    pub(super) place: &'a Place<'a>,
    /// What is wrong with it.
    pub(super) problems: &'a mut Vec<Problem>,
}

/// The provider of a scripted case, which a switch can go back to.
const SCRIPTED: &str = "scripted";

impl Reader<'_> {
    fn problem(&mut self, key: &str, message: impl Into<String>) -> &mut Problem {
        let at = format!("{}/{key}", self.place.at);
        self.problems.push(self.place.document.problem(&at, message));
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    fn unknown<'b>(
        &mut self,
        key: &str,
        (message, wrong): (String, &str),
        names: impl IntoIterator<Item = &'b str>,
    ) {
        let problem = self.problem(key, message);
        *problem = problem.clone().suggest(wrong, names);
    }

    /// The tool behind a name.
    fn tool(&mut self, key: &str, name: &str) -> Option<ToolId> {
        let registry = self.place.registry;
        let id = known(registry, name);
        if id.is_none() {
            let ids = registry.iter().map(|tool| tool.id().as_str());
            self.unknown(key, (format!("no tool `{name}`"), name), ids);
        }
        id
    }

    /// All hooks of a case; two of one name at one point are one too many.
    pub(super) fn hooks(&mut self, written: &[HookEntry]) -> Vec<PlayedHook> {
        let mut seen = BTreeSet::new();
        let mut hooks = Vec::new();
        for (index, entry) in written.iter().enumerate() {
            let at = format!("hooks/{index}");
            let point = entry.point.point();
            if !seen.insert((entry.name.as_str(), point)) {
                let message = format!("a second hook `{}` at this point", entry.name);
                self.problem(&format!("{at}/name"), message);
            }
            let names = alias::aliases(self.place.registry.iter().map(|tool| tool.id()));
            let mut tools = BTreeSet::new();
            for (place, name) in entry.tools.iter().enumerate() {
                if let Some(id) = self.tool(&format!("{at}/tools/{place}"), name) {
                    tools.extend(names.get(&id).cloned());
                    tools.insert(id.to_string());
                }
            }
            let spec = HookSpec {
                name: entry.name.clone(),
                point,
                priority: entry.priority,
                observer: entry.observer,
                global: entry.global,
            };
            let end = self.hook_end(&at, entry);
            hooks.push(PlayedHook { spec, tools, delay_ms: entry.delay_ms, end });
        }
        hooks
    }

    fn hook_end(&mut self, at: &str, entry: &HookEntry) -> HookEnd {
        let rewrites = entry.rename.is_some() || entry.args.is_some();
        let speaks = matches!(entry.action, ActionName::Cancel | ActionName::Fail);
        if rewrites != (entry.action == ActionName::Rewrite) {
            self.problem(at, "`rewrite` goes with `rename`, `args` or both");
        }
        if entry.reason.is_some() && !speaks {
            self.problem(&format!("{at}/reason"), "`reason` goes with `cancel` and `fail`");
        }
        let words = |usual: &str| entry.reason.clone().unwrap_or_else(|| usual.to_owned());
        HookEnd::Says(match entry.action {
            ActionName::Pass => HookVerdict::Pass,
            ActionName::Rewrite => HookVerdict::Rewrite {
                name: entry.rename.clone(),
                args: entry.args.clone().map(Value::Object),
            },
            ActionName::Cancel => HookVerdict::Cancel { reason: words("not now") },
            ActionName::Fail => HookVerdict::Failed { why: words("it is out of order") },
            ActionName::Panic => return HookEnd::Panics,
            ActionName::Slow => return HookEnd::Never,
        })
    }

    /// All signals of a case.
    pub(super) fn signals(
        &mut self,
        written: &[SignalEntry],
        others: &[&str],
    ) -> Vec<PlayedSignal> {
        let mut signals = Vec::new();
        for (index, entry) in written.iter().enumerate() {
            let at = format!("signals/{index}");
            if !Event::NAMES.contains(&entry.after.as_str()) {
                let names = Event::NAMES.iter().copied();
                let message = format!("no event `{}`", entry.after);
                self.unknown(&format!("{at}/after"), (message, &entry.after), names);
            }
            let tool = entry.tool.as_ref();
            let tool = tool.and_then(|name| self.tool(&format!("{at}/tool"), name));
            let block = entry.block.as_ref();
            let block = block.and_then(|name| self.tool(&format!("{at}/block"), name));
            if entry.block.is_some() && block.is_none() {
                continue;
            }
            let said = [
                entry.cancel.clone().map(What::Cancel),
                entry.steer.clone().map(What::Steer),
                entry.switch.clone().map(What::Switch),
                entry.revoke.then_some(What::Revoke),
                block.map(What::Block),
            ];
            let mut said = said.into_iter().flatten();
            let (Some(what), None) = (said.next(), said.next()) else {
                self.problem(&at, "a signal is one of cancel, steer, switch, revoke and block");
                continue;
            };
            if let What::Switch(to) = &what
                && to != SCRIPTED
                && !others.contains(&to.as_str())
            {
                let names = others.iter().copied().chain([SCRIPTED]);
                let message = format!("no provider `{to}` in `others`");
                self.unknown(&format!("{at}/switch"), (message, to), names);
            }
            let (after, count) = (entry.after.clone(), entry.count);
            signals.push(PlayedSignal { after, tool, count, what });
        }
        signals
    }

    /// All answers of a case; `None` where nobody is there.
    pub(super) fn answers(&mut self, written: &[ApprovalEntry]) -> Option<Vec<PlayedAnswer>> {
        let mut answers = Vec::new();
        for (index, entry) in written.iter().enumerate() {
            let at = format!("approvals/{index}");
            let yes = matches!(entry.answer, AnswerName::Approve | AnswerName::Confirm);
            if entry.scope.is_some() && !yes {
                let message = "`scope` goes with `approve` and `confirm`";
                self.problem(&format!("{at}/scope"), message);
            }
            let (tool, verdict) = (entry.tool.clone(), verdict(entry));
            answers.push(PlayedAnswer { tool, verdict, late: entry.late, to: entry.to });
        }
        (!answers.is_empty()).then_some(answers)
    }

    /// What the simulated tools of a case do.
    pub(super) fn acts(
        &mut self,
        written: &BTreeMap<String, Vec<ActEntry>>,
    ) -> BTreeMap<ToolId, Vec<Act>> {
        let mut acts = BTreeMap::new();
        for (name, entries) in written {
            let key = format!("tools/{}", crate::base::document::escape(name));
            let Some(id) = self.tool(&key, name) else { continue };
            let adapter =
                self.place.registry.get(&id).map(|tool| &tool.descriptor.execution.adapter);
            if adapter.and_then(|name| Adapter::parse(name)) != Some(Adapter::Simulated) {
                self.problem(&key, format!("{id} is not simulated: it acts for real"));
            }
            for (index, entry) in entries.iter().enumerate() {
                let ends = [entry.hang, entry.panic, entry.fault.is_some()];
                if ends.into_iter().filter(|end| *end).count() > 1 {
                    self.problem(&format!("{key}/{index}"), "one of hang, panic and fault");
                }
                if entry.hang && (entry.deaf || entry.output.is_some() || entry.delay_ms > 0) {
                    let message = "what hangs answers nothing, and ends only when it is told to";
                    self.problem(&format!("{key}/{index}/hang"), message);
                }
            }
            acts.insert(id, entries.iter().map(act).collect());
        }
        acts
    }
}

/// The envelope of a case.
pub(super) fn envelope(entry: &CaseEntry) -> Envelope {
    let EnvelopeEntry { ingress, channel, reply_to, thread } =
        entry.envelope.clone().unwrap_or_default();
    let ingress = ingress.map(|ingress| ingress.name().to_owned());
    Envelope { ingress, channel, reply_to, thread }
}

fn verdict(entry: &ApprovalEntry) -> Verdict {
    let text = entry.text.clone().unwrap_or_default();
    let scope = match entry.scope {
        None | Some(ReachName::Once) => AnswerScope::Once,
        Some(ReachName::Session) => AnswerScope::Session,
        Some(ReachName::Always) => AnswerScope::Always,
    };
    match entry.answer {
        AnswerName::Approve => Verdict::Yes { strong: false, scope },
        AnswerName::Confirm => Verdict::Yes { strong: true, scope },
        AnswerName::Deny if text.is_empty() => Verdict::No { reason: "no".to_owned() },
        AnswerName::Deny => Verdict::No { reason: text },
        AnswerName::Replace => Verdict::Replace { text },
        AnswerName::Timeout => Verdict::Timeout,
    }
}

fn act(entry: &ActEntry) -> Act {
    Act {
        delay_ms: entry.delay_ms,
        deaf: entry.deaf,
        writes: entry.undeclared.clone(),
        cost_usd: entry.cost_usd,
        output: entry.output.clone(),
        fault: entry.fault.as_ref().map(|fault| (fault.code.clone(), fault.message.clone())),
        fate: match (entry.hang, entry.panic) {
            (true, _) => Fate::Hangs,
            (false, true) => Fate::Panics,
            (false, false) => Fate::Ends,
        },
    }
}
