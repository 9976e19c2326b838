//! One-line journals: `open c; user; view a,b -x; model; req 1 a; val 1; pol 1 allow; run 1; ..`.
//!
//! Clauses are divided by `;`. `1` is the call `c1`; digests, versions and blobs follow from the
//! call and the tool. `@s2 ...` puts one clause into the session `s2`. A digest option replaces
//! the digest that would follow by that of another word.
//!
//! | clause | event |
//! |---|---|
//! | `open [c] [h] [r] [max=N] [-x] [approver=W] [scopes=S,..] [tenant=T]` | SessionOpened |
//! | `cat a,b [bare]`, `norm a [source=S]` | ToolVerified (bare: no effects), ToolNormalized |
//! | `found a [source=S]` | ToolDiscovered |
//! | `enable a [scope=S] [evidence=W]`, `block a [by=N]` | ToolEnabled, ToolBlocked |
//! | `user` | UserPromptSubmitted, TurnStarted of the next turn |
//! | `view a,b [-x] [decision=D] [projection=P] [mcp=a] [skill=b]` | ViewCompiled |
//! | `model [a,b] [unlogged]` | ModelRequested with the view's names, or these |
//! | `req 1 a, 2 b [loose]` | ModelReplied, ToolCallRequested each, BatchOpened (not if loose) |
//! | `req 1 a, 2 a:1` | the same, the second call with the arguments of call 1 |
//! | `rename 1 b [args=W]`, `val 1 [failed] [args=W]` | ToolCallRewritten, ToolArgsValidated |
//! | `pol 1 D [rule=R] [class=C] [digest=W]` | ToolPolicyChecked |
//! | `ask 1 [strong] [until=N] [digest=W]` | ApprovalRequested |
//! | `yes 1 [strong] [to=2] [digest=W]` | ApprovalGranted |
//! | `no 1`, `edit 1`, `late 1`, `gone 1` | the other four answers |
//! | `grant 1 [id=G]` | GrantUsed |
//! | `box 1 [mode=M] [enforced=E] [by=A,B] [server=S]` | ToolSandboxPrepared; `all` mechanisms |
//! | `run 1 [class=C] [tool=T] [version=W] [args=W] [digest=W] [bare]` | ToolCallStarted |
//! | `fail 1`, `fin 1 ok or failed [chars=N] [result=W] [bare] [unlogged]` | how it ended |
//! | `chk 1 [undeclared=R]` | ToolResultValidated |
//! | `art 1 [of=2] [event=N] [eventless]` | ArtifactPersisted |
//! | `rcpt 1 [result=W] [args=W] [forged]` | ReceiptIssued under [`key`] |
//! | `set 1 OUTCOME [chars=N] [cut] [text=W] [told=W] [bare] [gone]` | ToolCallSettled |
//! | `set 1 denied [by=D]`, `set 2 duplicate [of=1]` | the same; else by the last answer |
//! | `app 1,2 [loose]`, `say W` | TranscriptAppended: the calls and results (loose: results only) |
//! | `caps N [M]`, `circle N [M]` | TurnStarted: iteration cap and call budget, loop thresholds |
//! | `warned [W]`, `circled [W]` | LoopWarned, LoopStopped |
//! | `trace W`, `at N`, `end [REASON] [events]` | TraceUpdated, the clock, TurnFinished |
//!
//! About dispatch, cancellation, retries and the record as a whole (`P` is a list of patterns):
//!
//! | clause | event |
//! |---|---|
//! | `turn [parallel]` | as `user`, with the knob for parallel tools |
//! | `model .. [by=P]`, `switch P Q` | ModelRequested of that provider, ModelSwitched |
//! | `made 1,2`, `post 1 [text=W] [chars=N]` | TranscriptAppended: calls alone, a result alone |
//! | `plan 1,2 [parallel] [batch=W] [mode=W]` | DispatchPlanned |
//! | `run 1 .. [key=W] [reads=P] [writes=P] [adapter=W] [attempt=N] [unnumbered]` | its attempt |
//! | `fail 1 [retry=N] [code=W]`, `torn 1`, `drop 1` | AttemptFailed, TornDown, LateResultDropped |
//! | `fin 1 STATUS [fault]`, `chk 1 [failed] [skipped]` | other ends, with or without a fault |
//! | `cancel`, `ack` | CancelRequested, CancelAcknowledged |
//! | `loop W`, `stuck 1 [of=2]` | LoopStopped, RepeatStopped |
//! | `steer W`, `patch [1] [bad]` | SteeringReceived, StateUpdated (bad: no object) |
//! | `anon CLAUSE`, `seq N`, `cause N` | without its call; the next number; the last cause |
//! | `hook 1 POINT VERDICT [observer]` | HookRan of `guard` at `before`, `verify`, `after` or so |
//! | `dup 2 of=1 [scope=S]`, `repeat 2 of=1` | DuplicateDropped, RepeatStopped |
//! | `pattern 1 W` | LoopWarned about the call |
//! | `issue G a [class=C] [until=N] [to=P] [as=S] [from=1] [version=W]` | GrantIssued |
//! | `revoke G`, `consent S [to=P]` | GrantRevoked, ServerConsented |
//! | `activate 1 b` | ToolActivated |
//! | `delegate 1 K [tools=a,b] [scopes=S] [scoped]`, `back 1 K` | DelegateStarted and -Finished |
//! | `emit 1 SURFACE [start] [end] [corr=W] [chars=N] [limit=N]` | SurfaceEmitted |
//!
//! Some clauses write no event and say more of the last one of its kind, or of its call:
//!
//! | clause | says of |
//! |---|---|
//! | `guard SCOPE [exempt=a,b] [strict]` | TurnStarted: the duplicate guard's scope or `none`, .. |
//! | `raw W [gone]` | ModelReplied: its text, `|` for a new line, `~` for a space (gone: no blob) |
//! | `origin 1 W`, `text 1 [W]` | ToolCallRequested: its origin; text instead of arguments |
//! | `cleared 1`, `filled 1 W`, `blank 1` | ToolArgsValidated: marker, defaults, blank text |
//! | `line 1 W` | ToolCallRequested: a command line for its arguments, `~` for a space |
//! | `part 1 [D]` | ToolPolicyChecked: the decision about a part of the line, or about none |
//! | `intent 1 W` | ToolPolicyChecked: compared with the intent |
//! | `offer 1 a,b`, `kind 1 W`, `unsigned 1` | the request's options, the yes's scope, no decider |
//! | `bound 1 N [calls=N] [usd=U] [until=N] [per=P] [cost=U]`, `masks 1` | ToolPolicyChecked |
//! | `cost 1 U`, `verifies 1 a,b` | ToolCallFinished: what it cost; ToolCallStarted: verifiers |
//! | `would 1 W`, `again 1 W` | what ApprovalRequested and ToolCallStarted say it would do |
//! | `mark 1`, `writes 1 W` | ToolCallStarted: the approval marker, a resource written |

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::base::digest::Digest;
use crate::base::secret::{Secret, keyed_hash};
use crate::base::world::Millis;
use crate::journal::event::call::UNLOGGED_FAULT;
use crate::journal::event::turn::SecretHash;
use crate::journal::outcome::{Blame, Denier, Fault, Outcome, Unavailability};
use crate::journal::{Blobs, Entry, Event};
use crate::tool::effect::EffectClass;
use crate::tool::id::ToolId;

#[path = "dsl_dispatch.rs"]
mod dispatch_words;
#[path = "dsl_guard.rs"]
mod guard_words;
#[path = "dsl_limits.rs"]
mod limits_words;
#[path = "dsl_words.rs"]
mod words;

/// The key of all receipts written by `rcpt`.
pub(crate) fn key() -> Secret {
    Secret::new("the key of one-line journals")
}

/// The secret that `open h` lists.
pub(crate) const LISTED: &str = "hunter2-hunter2";

/// Builds the journal of a line.
///
/// # Errors
/// The clause that cannot be read.
pub(crate) fn journal(line: &str) -> Result<(Vec<Entry>, Blobs), String> {
    let mut script = Script { clock: 1000, ..Script::default() };
    for text in line.split(';').map(str::trim).filter(|text| !text.is_empty()) {
        words::clause(&mut script, text).ok_or_else(|| format!("cannot read `{text}`"))?;
    }
    Ok((script.entries, script.blobs))
}

#[derive(Default)]
struct Script {
    entries: Vec<Entry>,
    blobs: Blobs,
    clock: Millis,
    sessions: BTreeMap<String, State>,
}

/// What later clauses of one session need of earlier ones.
#[derive(Default, Clone)]
struct State {
    seq: u64,
    turn: u32,
    shown: Vec<String>,
    tools: BTreeMap<String, String>,
    texts: BTreeMap<String, (Digest, usize)>,
    args: BTreeMap<String, Value>,
    last: BTreeMap<String, u64>,
    starts: BTreeMap<String, u32>,
}

/// One clause, taken apart.
struct Clause<'a> {
    session: &'a str,
    words: Vec<&'a str>,
    options: BTreeMap<&'a str, &'a str>,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let session = words.first().and_then(|word| word.strip_prefix('@'));
        if session.is_some() {
            words.remove(0);
        }
        let options = words.iter().filter_map(|word| word.split_once('=')).collect();
        words.retain(|word| !word.contains('='));
        (!words.is_empty()).then_some(Self { session: session.unwrap_or("s1"), words, options })
    }

    fn word(&self, place: usize) -> Option<&'a str> {
        self.words.get(place).copied()
    }

    fn flag(&self, name: &str) -> bool {
        self.words.contains(&name)
    }

    fn number(&self, option: &str) -> Option<u64> {
        self.options.get(option).and_then(|text| text.parse().ok())
    }

    /// Comma-separated names, of the words that begin with `-` or of the first that does not.
    fn list(&self, hidden: bool) -> Vec<&'a str> {
        let mut words = self.words.iter().skip(1);
        let found = words.find(|word| word.starts_with('-') == hidden);
        found.map_or(Vec::new(), |word| word.trim_start_matches('-').split(',').collect())
    }
}

impl Script {
    fn state(&mut self, session: &str) -> &mut State {
        self.sessions.entry(session.to_owned()).or_default()
    }

    /// Appends an entry about a call, or about none.
    fn add(&mut self, session: &str, call: Option<&str>, event: impl Into<Event>) {
        let at = self.clock;
        self.clock += 10;
        let state = self.state(session);
        state.seq += 1;
        let (seq, turn) = (state.seq, state.turn);
        if let Some(call) = call {
            state.last.insert(call.to_owned(), seq);
        }
        let turn = (turn > 0).then(|| Arc::from(format!("t{turn}")));
        let (session, call) = (session.into(), call.map(|call| call_id(call).into()));
        let cause = seq.checked_sub(1).filter(|seq| *seq > 0);
        self.entries.push(Entry { seq, session, turn, call, cause, at, event: event.into() });
    }

    fn text(&mut self, text: String) -> (Digest, usize) {
        let chars = text.chars().count();
        (self.blobs.put(text.into()), chars)
    }
}

fn call_id(number: &str) -> String {
    format!("c{number}")
}

/// A digest that follows from a kind and a word.
fn digest(kind: &str, word: &str) -> Digest {
    Digest::of("one-line journal", format!("{kind} {word}").as_bytes())
}

/// The digest of a kind that a call has, or that of another word.
fn chosen(clause: &Clause<'_>, option: &str, (kind, word): (&str, &str)) -> Digest {
    digest(kind, clause.options.get(option).copied().unwrap_or(word))
}

fn tool_id(name: &str) -> ToolId {
    ToolId::sanitized(name)
}

fn listed() -> SecretHash {
    SecretHash { chars: LISTED.chars().count(), hash: keyed_hash("k", LISTED) }
}

fn fault() -> Fault {
    Fault { blame: Blame::Tool, code: "exit_status".into(), message: "it failed".into() }
}

fn quiet_fault() -> Fault {
    Fault { message: UNLOGGED_FAULT.into(), ..fault() }
}

fn class(clause: &Clause<'_>) -> EffectClass {
    match clause.options.get("class").copied() {
        Some("destructive") => EffectClass::Destructive,
        Some("external") => EffectClass::External,
        Some("write") => EffectClass::Write,
        _ => EffectClass::Read,
    }
}

fn outcome(name: &str) -> Option<Outcome> {
    Some(match name {
        "succeeded" => Outcome::Succeeded,
        "failed" => Outcome::Failed { fault: fault() },
        "rejected" => Outcome::Rejected { errors: Vec::new() },
        "unavailable" => Outcome::Unavailable { why: Unavailability::Excluded },
        "denied" => Outcome::Denied { by: Denier::Policy, reason: "no".into() },
        "replaced" => Outcome::Replaced,
        "blocked" => Outcome::Blocked { by: "guard".into() },
        "duplicate" => Outcome::Duplicate { of: call_id("1") },
        "cancelled" => Outcome::Cancelled { cause: "user".into() },
        "interrupted" => Outcome::Interrupted,
        _ => return None,
    })
}
