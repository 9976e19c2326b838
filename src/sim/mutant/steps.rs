//! Decision mutants: the table of decisions with one function replaced, and who must notice. They
//! are known mistakes of real runtimes; the simulator plays with them until somebody does.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Outcome;
use crate::base::bounded::Bounded;
use crate::base::choice::{Random, to_text};
use crate::runtime::catalog::Registered;
use crate::runtime::dialect::{Arguments, Dialect, RawCall, Reply, TextRules};
use crate::runtime::guard::approval::{Acceptance, accept};
use crate::runtime::guard::repeat::Repeat;
use crate::runtime::guard::{HookVerdict, Verdict, resolve, validate};
use crate::runtime::policy::{self, Decision, Judgement, Principal, Rules};
use crate::runtime::turn::control::{LoopVerdict, Round, loop_guard};
use crate::runtime::turn::schedule::{Dispatch, OnCancel, on_cancel};
use crate::runtime::turn::slots::Stage;
use crate::runtime::turn::steps::{Next, Steps};
use crate::runtime::view::Lease;
use crate::sim::explore::{Bench, replay, session_seed};
use crate::sim::scene::Scene;
use crate::tool::id::ToolId;

/// One mistake.
#[derive(Debug, Clone, Copy)]
pub struct StepMutant {
    /// Its stable name.
    pub name: &'static str,
    /// The reported fault it is, where it is one.
    pub fault: Option<&'static str>,
    /// Who must notice: laws, or `oracle`.
    pub by: &'static [&'static str],
    /// The decisions with the mistake.
    pub steps: fn() -> Steps,
}

macro_rules! mutants {
    (@fault) => { None };
    (@fault $fault:literal) => { Some($fault) };
    ($($name:literal $($fault:literal)? [$($by:literal),+] { $field:ident : $value:expr })+) => {
        &[$(StepMutant {
            name: $name,
            fault: mutants!(@fault $($fault)?),
            by: &[$($by),+],
            steps: || Steps { $field: $value, ..Steps::REAL },
        }),+]
    };
}

/// The name by which the reference model notices.
pub const ORACLE: &str = "oracle";

impl StepMutant {
    /// Whether laws alone must notice it: what the reference model may see first can be in no
    /// journal.
    pub fn is_in_journals(&self) -> bool {
        self.by.iter().all(|name| *name != ORACLE)
    }
}

/// All decision mutants.
pub fn all() -> &'static [StepMutant] {
    TABLE
}

const TABLE: &[StepMutant] = mutants! {
        "lose-the-last-result" "M01" ["one-result-per-call", "closed-before-end"] {
            append_order: |slots| (0..slots.saturating_sub(1)).collect()
        }
        "start-after-cancel" "M02" ["nothing-after-cancel", "cancel-closes-open-only"] {
            on_cancel: |stage| match stage {
                Stage::Queued(_) | Stage::Proposed(..) | Stage::Asking(..) => OnCancel::Keep,
                other => on_cancel(other),
            }
        }
        "broken-arguments-become-empty" "M03" ["arguments-as-sent", "oracle"] {
            validate: |mut resolved, principal| {
                if let Arguments::Malformed { .. } = resolved.arguments_mut() {
                    *resolved.arguments_mut() = Arguments::Json(Value::Object(Map::new()));
                }
                validate::validate(resolved, principal)
            }
        }
        "coerce-arguments" "R8" ["arguments-as-sent", "oracle"] {
            validate: |mut resolved, principal| {
                if let Some(Value::Object(map)) = resolved.args_mut() {
                    for value in map.values_mut().filter(|value| value.is_number()) {
                        *value = Value::String(value.to_string());
                    }
                }
                validate::validate(resolved, principal)
            }
        }
        "call-what-was-rehearsed" "M05" ["calls-where-allowed", "oracle"] { parse: rehearsed }
        "run-another-file" "M06" ["approval-binds", "oracle"] { same_operand: |_, _| true }
        "silence-is-a-yes" "M07" ["approval-binds", "noninteractive-refuses", "oracle"] {
            accept_approval: |request, answer, digest, now| match answer.verdict {
                Verdict::Unreachable | Verdict::Timeout => Acceptance::Granted,
                _ => accept(request, answer, digest, now),
            }
        }
        "late-is-in-time" "M07" ["approval-binds", "oracle"] {
            accept_approval: |request, answer, digest, _| {
                accept(request, answer, digest, request.expires_at)
            }
        }
        "plain-is-strong" ["approval-binds", "destructive-stronger", "oracle"] {
            accept_approval: |request, answer, digest, now| match answer.verdict {
                Verdict::Yes { scope, .. } => {
                    let mut strong = answer.clone();
                    strong.verdict = Verdict::Yes { strong: true, scope };
                    accept(request, &strong, digest, now)
                }
                _ => accept(request, answer, digest, now),
            }
        }
        "any-grant-will-do" "M08" ["grant-within-scope"] {
            standing_grant: |grants, _, _, _| grants.iter().next()
        }
        "allow-beats-deny" "M10" ["oracle"] {
            decide: |tool, args, principal, rules| {
                let judged = policy::decide(tool, args, principal, rules);
                let decision = match judged.decision {
                    Decision::Deny => Decision::Allow,
                    other => other,
                };
                Judgement { decision, ..judged }
            }
        }
        "judge-the-head-alone" "B076" ["shell-by-its-strictest-part"] { decide: head_alone }
        "failing-guards-pass" "M10" ["failing-guard-blocks", "oracle"] { hook_blocks: |_, _| None }
        "results-in-reverse" "M12" ["model-order"] {
            append_order: |slots| (0..slots).rev().collect()
        }
        "writers-at-once" "M12" ["writers-serial"] { conflict: |_, _| false }
        "try-anything-again" "M13" ["at-most-once"] {
            retry: |_, _, attempt, now| (attempt < 3).then_some(now)
        }
        "no-duplicate-guard" "M13" ["duplicates-dropped"] { duplicate: |_, _, _, _| None }
        "suppress-repeats" "M13" ["duplicate-is-real", "oracle"] {
            duplicate: |ledger, (_, call), _, _| {
                let mut standing = ledger.standing().iter();
                standing.find(|one| *one.call != *call).map(|one| Arc::clone(&one.call))
            }
        }
        "receipts-for-failures" "M14" ["receipt-only-on-success"] { receipt_eligible: |_| true }
        "no-receipts" "M14" ["receipt-only-on-success"] { receipt_eligible: |_| false }
        "leak-results" "M15" ["no-secrets"] { redact: |_, text| Cow::Borrowed(text) }
        "leak-arguments" "M15" ["no-secrets"] { redact_known: |_, text| Cow::Borrowed(text) }
        "show-everything" "M15" ["large-output-stored"] {
            preview: |text, suffix, _| Bounded {
                text: format!("{text}{suffix}"),
                total_chars: text.chars().count(),
                cut: false,
            }
        }
        "run-what-waits" "R5" ["withheld-not-run", "oracle"] {
            resolve: |proposed, view| match view.waits(&proposed.name) {
                Some(lease) => Ok(resolve::with(proposed, &lease.tool)),
                None => resolve::resolve(proposed, view),
            }
        }
        "show-what-is-denied" "R5" ["view-explained", "oracle"] {
            may_expose: |tool, principal, rules| {
                let judged = policy::may_expose(tool, principal, rules);
                Judgement { decision: judged.decision.min(Decision::Ask), ..judged }
            }
        }
        "circles-are-forgotten" "R6" ["circles-are-noticed"] { loop_guard: streaks_alone }
        "no-loop-guard" "R6" ["circles-are-noticed"] { loop_guard: |_, _, _| LoopVerdict::Pass }
        "refusals-do-not-count" ["circles-are-noticed"] {
            loop_guard: |rounds, next, knobs| {
                let ran = rounds.iter().filter(|round| round.refused.is_none());
                loop_guard(&ran.cloned().collect::<Vec<_>>(), next, knobs)
            }
        }
        "warn-for-ever" ["circles-are-noticed"] {
            loop_guard: |rounds, next, knobs| match loop_guard(rounds, next, knobs) {
                LoopVerdict::Block(pattern) | LoopVerdict::Stop(pattern) => {
                    LoopVerdict::Warn(pattern)
                }
                other => other,
            }
        }
        "markers-stay" ["marker-not-forged", "oracle"] { clear_marker: |_, _| false }
        "deliver-anywhere" ["arguments-as-sent"] {
            delivery_defaults: |args, _, _, _| {
                if let Some(map) = args.as_object_mut() {
                    map.insert("to".to_owned(), "everybody".into());
                }
                Vec::new()
            }
        }
        "intent-is-nothing" ["oracle"] { beyond_intent: |_, _| None }
        "ask-again-and-again" ["prompt-not-repeated"] { repeated_prompt: |_, _, _| Repeat::Fresh }
        "always-parallel" ["parallel-only-when-safe"] {
            plan_dispatch: |_, _| Dispatch { parallel: true, reason: "why not" }
        }
        "cancel-what-is-done" ["cancel-closes-open-only", "oracle"] {
            on_cancel: |stage| match stage {
                Stage::Observing { .. } | Stage::Backoff { .. } => OnCancel::Close,
                other => on_cancel(other),
            }
        }
        "no-cap" ["caps-respected"] { next: |_, _| Next::Ask }
        "hand-over-what-waits" ["child-within-parent", "oracle"] {
            delegated: |_, view| view.leases.iter().chain(view.waiting.iter()).map(id).collect()
        }
        "hand-over-all-that-is-shown" ["oracle"] {
            delegated: |_, view| view.leases.iter().map(id).collect()
        }
        "blind-to-blocks" ["blocked-never-runs"] { is_blocked: |_, _| false }
        "agree-to-every-server" ["consent-before-server"] { consented: |_, _| true }
        "spend-without-end" ["budgets-kept"] { over_budget: |_, _, _| None }
        "run-what-was-not-shown" ["runs-as-rehearsed"] { same_rehearsal: |_, _| true }
        "verifiers-have-no-say" ["verified-before-success"] {
            check: |spec, _| (Steps::REAL.check)(spec, &HookVerdict::Pass)
        }
        "show-people" ["personal-data-masked"] { mask: |text| Cow::Borrowed(text) }
        "find-nothing" ["activation-grants-nothing", "oracle"] {
            activate: |_, found, _| found.to_vec()
        }
};

/// Of a command line, what comes first is taken for the whole.
fn head_alone(tool: &Registered, args: &Value, principal: &Principal, rules: &Rules) -> Judgement {
    let mut args = args.clone();
    let line = tool.descriptor.shell_line().and_then(|name| args.get_mut(name));
    if let Some(Value::String(line)) = line {
        *line = line.split([';', '&', '|']).next().unwrap_or_default().to_owned();
    }
    policy::decide(tool, &args, principal, rules)
}

fn id(lease: &Lease) -> ToolId {
    lease.tool.id().clone()
}

/// Reasoning is listened to like speech.
fn rehearsed(dialect: Dialect, reply: &Reply, rules: TextRules) -> (Option<String>, Vec<RawCall>) {
    let text =
        reply.text.as_ref().map(|text| text.replace("<think>\n", "").replace("</think>", ""));
    dialect.parse(&Reply { text, ..reply.clone() }, rules)
}

/// Only an unbroken row of the same call counts.
fn streaks_alone(
    rounds: &[Round],
    next: Option<crate::runtime::guard::repeat::CallKey>,
    knobs: &crate::runtime::resolved::Knobs,
) -> LoopVerdict {
    let last = next.or(rounds.last().map(|round| round.key));
    let row = rounds.iter().rev().take_while(|round| Some(round.key) == last).count();
    loop_guard(&rounds[rounds.len() - row..], next, knobs)
}

/// How a decision mutant fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepGraded {
    /// The mutant.
    pub name: &'static str,
    /// The reported fault it is, where it is one.
    pub fault: Option<&'static str>,
    /// Who noticed, in short.
    pub outcome: Outcome,
    /// Everybody who noticed in the session that ended the search.
    pub caught_by: Vec<String>,
    /// Whether the same session with the real decisions is flagged too.
    pub decoy_flagged: bool,
    /// The session, as a list of choices.
    pub replay: String,
}

/// Plays with a mutant until somebody who must notice does, for at most this many sessions of a
/// seed.
pub fn grade(scene: &Scene, mutant: &StepMutant, seed: u64, sessions: u64) -> StepGraded {
    let (steps, real) = ((mutant.steps)(), Steps::REAL);
    let apart = scene.apart();
    let (mut bench, mut sound) = (Bench::new(&apart, &steps), Bench::new(scene, &real));
    let mut graded = StepGraded {
        name: mutant.name,
        fault: mutant.fault,
        outcome: Outcome::Missed,
        caught_by: Vec::new(),
        decoy_flagged: false,
        replay: String::new(),
    };
    for session in 0..sessions {
        let mut choices = Random::new(session_seed(seed, session));
        let found = bench.chance(&mut choices).found;
        if found.is_empty() {
            continue;
        }
        let mut by: Vec<String> = found.into_iter().map(|one| one.by).collect();
        by.sort();
        by.dedup();
        let own = by.iter().any(|name| mutant.by.contains(&name.as_str()));
        graded.outcome = if own { Outcome::Caught } else { Outcome::CaughtByOther };
        graded.caught_by = by;
        graded.replay = to_text(choices.made());
        let again = replay(&mut sound, choices.made().to_vec());
        graded.decoy_flagged = !again.found.is_empty();
        if own {
            break;
        }
    }
    graded
}
