//! The clauses of one-line journals about dispatch, cancellation, retries, the record as a whole.

use super::*;
use crate::journal::event::call::*;
use crate::journal::event::turn::*;

/// Adds the events of one clause; `None` when it is none of these or cannot be read.
pub(super) fn clause(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    match verb {
        "turn" => turn(script, clause),
        "anon" | "seq" | "cause" => book(script, clause, verb),
        "made" | "post" => message(script, clause, verb),
        "torn" | "drop" | "stuck" | "patch" => of_call(script, clause, verb),
        _ => of_turn(script, clause, verb),
    }
}

fn turn(script: &mut Script, clause: &Clause<'_>) -> Option<()> {
    script.state(clause.session).turn += 1;
    script.add(clause.session, None, UserPromptSubmitted::new("please".into()));
    let begun = TurnStarted::new("scripted".into(), "openai".into());
    let parallel_tools = clause.flag("parallel");
    script.add(clause.session, None, TurnStarted { parallel_tools, ..begun });
    Some(())
}

/// How a turn ends: for the reason it names, and with the count of entries where it asks for it.
pub(super) fn end(script: &mut Script, clause: &Clause<'_>) -> TurnFinished {
    let count = script.state(clause.session).seq + 1;
    let mut words = clause.words.iter().skip(1).filter(|word| **word != "events");
    let reason = words.next().copied().unwrap_or("final_text");
    let events = clause.flag("events").then_some(count);
    TurnFinished { events, ..TurnFinished::new(reason.into()) }
}

/// The number of the attempt that a start begins.
pub(super) fn attempt(script: &mut Script, clause: &Clause<'_>, call: &str) -> Option<u32> {
    let begun = script.state(clause.session).starts.entry(call.to_owned()).or_default();
    *begun += 1;
    let next = *begun;
    let own = clause.options.get("attempt").and_then(|number| number.parse().ok());
    (!clause.flag("unnumbered")).then(|| own.unwrap_or(next))
}

/// A start with what its options add.
pub(super) fn started(clause: &Clause<'_>, start: ToolCallStarted) -> ToolCallStarted {
    let option = |name| clause.options.get(name).map(|word| (*word).to_owned());
    let list = |name| {
        let words = clause.options.get(name).into_iter();
        words.flat_map(|words| words.split(',')).map(str::to_owned).collect()
    };
    ToolCallStarted {
        idempotency_key: option("key"),
        reads: list("reads"),
        writes: list("writes"),
        adapter: option("adapter").or(start.adapter),
        ..start
    }
}

/// The failure of the attempt that began last.
pub(super) fn failed(script: &mut Script, clause: &Clause<'_>, call: &str) -> AttemptFailed {
    let attempt = script.state(clause.session).starts.get(call).copied().unwrap_or(1);
    let code = clause.options.get("code").map(|found| (*found).to_owned());
    let fault = Fault { code: code.unwrap_or_else(|| fault().code), ..fault() };
    AttemptFailed { retry_at: clause.number("retry"), ..AttemptFailed::new(attempt, fault) }
}

/// What verification says.
pub(super) fn verified(clause: &Clause<'_>) -> String {
    let words = ["failed", "skipped"];
    words.into_iter().find(|word| clause.flag(word)).unwrap_or("passed").into()
}

/// What is wrong with the books: a call that is not named, a number, a cause.
fn book(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    match verb {
        "anon" => {
            let mut text = format!("@{} {}", clause.session, clause.words.get(1..)?.join(" "));
            for (option, word) in &clause.options {
                text.push_str(&format!(" {option}={word}"));
            }
            words::clause(script, &text)?;
            script.entries.last_mut()?.call = None;
        }
        "seq" => {
            let next: u64 = clause.word(1)?.parse().ok()?;
            script.state(clause.session).seq = next.checked_sub(1)?;
        }
        _ => script.entries.last_mut()?.cause = Some(clause.word(1)?.parse().ok()?),
    }
    Some(())
}

fn message(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    let message = if verb == "made" {
        let (text, chars) = script.text("calls".into());
        let calls = clause.word(1)?.split(',').map(call_id).collect();
        TranscriptMessage { role: "assistant".into(), text, chars, call: None, calls }
    } else {
        let call = clause.word(1)?;
        let (mut text, mut chars) = *script.state(clause.session).texts.get(call)?;
        if let Some(word) = clause.options.get("text") {
            text = script.text((*word).into()).0;
        }
        if let Some(counted) = clause.number("chars") {
            chars = usize::try_from(counted).ok()?;
        }
        let (role, call) = ("tool".into(), Some(call_id(call)));
        TranscriptMessage { role, text, chars, call, calls: Vec::new() }
    };
    script.add(clause.session, None, TranscriptAppended { messages: vec![message] });
    Some(())
}

fn of_call(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    let call = clause.word(1).filter(|word| *word != "bad");
    let event: Event = match verb {
        "torn" => TornDown { how: Some("process_group".into()) }.into(),
        "drop" => LateResultDropped { result_digest: Some(digest("late", call?)) }.into(),
        "stuck" => {
            RepeatStopped { of: call_id(clause.options.get("of").copied().unwrap_or("1")) }.into()
        }
        _ => {
            let patch = serde_json::json!({"step": 1});
            let patch = if clause.flag("bad") { serde_json::json!("step 1") } else { patch };
            script.add(clause.session, call, StateUpdated { patch });
            return Some(());
        }
    };
    script.add(clause.session, Some(call?), event);
    Some(())
}

fn of_turn(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    let word = |place: usize| clause.word(place).map(str::to_owned);
    let event: Event = match verb {
        "plan" => {
            let calls = clause.word(1)?.split(',').map(call_id).collect();
            let option = |name| clause.options.get(name).copied();
            let mode = if clause.flag("parallel") { "parallel" } else { "sequential" };
            DispatchPlanned {
                batch: option("batch").unwrap_or("b1").into(),
                mode: option("mode").unwrap_or(mode).into(),
                reason: "so planned".into(),
                calls,
            }
            .into()
        }
        "cancel" => CancelRequested { cause: "user".into() }.into(),
        "ack" => CancelAcknowledged::new().into(),
        "loop" => LoopStopped { pattern: word(1)? }.into(),
        "steer" => SteeringReceived { text: word(1)? }.into(),
        "switch" => ModelSwitched { from: word(1)?, to: word(2)? }.into(),
        _ => return None,
    };
    script.add(clause.session, None, event);
    Some(())
}
