//! What the model said: calls only from where its protocol allows them, arguments as it sent them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::index::{Call, Index, Seen};
use super::law::{Scene, Tally};
use crate::base::canon;
use crate::base::digest::Digest;
use crate::base::secret::REDACTED;
use crate::journal::Event;
use crate::journal::event::call::*;
use crate::journal::event::turn::*;

/// A reply and the calls that the model made in it, each once.
struct Reply<'a> {
    seen: Seen<'a, ModelReplied>,
    made: Vec<(&'a str, Seen<'a, ToolCallRequested>)>,
    /// Whether another reply, or a turn's end, follows.
    over: bool,
    /// Whether the session was opened again since: a reply that was not taken apart by then is
    /// asked for anew.
    lost: bool,
}

fn replies<'a>(index: &Index<'a>) -> Vec<Reply<'a>> {
    let mut replies: Vec<Reply<'_>> = Vec::new();
    let mut known = BTreeSet::new();
    for (at, entry) in index.entries.iter().enumerate() {
        let last = replies.last_mut();
        match (&entry.event, last) {
            (Event::ModelReplied(fact), last) => {
                if let Some(last) = last {
                    last.over = true;
                }
                replies.push(Reply {
                    seen: Seen { at, entry, fact },
                    made: Vec::new(),
                    over: false,
                    lost: false,
                });
            }
            (Event::TurnFinished(_), Some(last)) => last.over = true,
            (Event::SessionOpened(_), Some(last)) => last.lost = true,
            (Event::ToolCallRequested(fact), Some(last)) => {
                let by_model = fact.proposed_by.as_deref().is_none_or(|by| by == "model");
                let call = entry.call.as_deref().filter(|call| by_model && known.insert(*call));
                if let Some(call) = call.filter(|_| !last.over) {
                    last.made.push((call, Seen { at, entry, fact }));
                }
            }
            _ => {}
        }
    }
    replies
}

/// A, "calls are parsed from where the protocol allows them, and strict parsing hides the text
/// protocol": as many calls are requested as were parsed; under strict parsing none comes from
/// text; and of a recorded text each call's name stands outside of reasoning, quotes and fences
/// (but for calls whose own protocol is the fence), as often as it was requested. A call from a
/// text that is not recorded is unknown.
pub(super) fn calls_where_allowed(scene: &mut Scene<'_>, tally: &mut Tally) {
    let scopes = scene.index.scopes();
    for reply in replies(scene.index) {
        counted(&reply, tally);
        let mut spoken: BTreeMap<(bool, &str), Vec<(&str, u64)>> = BTreeMap::new();
        for (call, request) in &reply.made {
            let origin = request.fact.origin.as_deref();
            let textual = origin.is_some_and(|origin| origin != "native");
            let strict = || {
                let call = scene.index.call(call)?;
                scopes.turn(call).filter(|turn| turn.fact.strict)
            };
            if let Some(turn) = textual.then(strict).flatten() {
                tally.checked();
                let message = "a call came from text although parsing is strict".into();
                tally.broken(Some(call), &[turn.seq(), request.seq()], message);
            } else if textual || (origin.is_none() && reply.seen.fact.raw.is_some()) {
                let place = (origin == Some("fenced"), request.fact.tool_id.as_str());
                spoken.entry(place).or_default().push((call, request.seq()));
            }
        }
        if spoken.is_empty() {
            continue;
        }
        let raw = reply.seen.fact.raw.and_then(|raw| scene.blobs.get(&raw));
        let Some(raw) = raw else {
            tally.unknown(|| "the text of a reply that made calls is not recorded".into());
            continue;
        };
        for ((fenced, name), calls) in spoken.into_iter().filter(|((_, name), _)| !name.is_empty())
        {
            let found = mentions(&allowed(raw, fenced), name);
            for (place, (call, seq)) in calls.into_iter().enumerate() {
                tally.checked();
                if place >= found {
                    let message = "a call was taken from where no call may stand".into();
                    tally.broken(Some(call), &[reply.seen.seq(), seq], message);
                }
            }
        }
    }
}

fn counted(reply: &Reply<'_>, tally: &mut Tally) {
    let (said, made) = (reply.seen.fact.calls as usize, reply.made.len());
    if made == 0 && (said == 0 || reply.lost) {
        return;
    }
    if said != made && !reply.over {
        return tally.unknown(|| "the journal ends within a reply".into());
    }
    tally.checked();
    if said != made {
        let message = format!("{said} calls were parsed from a reply and {made} were requested");
        let last = reply.made.last().map(|(_, request)| request.seq());
        let events: Vec<u64> = [reply.seen.seq()].into_iter().chain(last).collect();
        tally.broken(None, &events, message);
    }
}

/// What is left of a reply without reasoning, quoted lines and, unless they are the protocol,
/// fenced blocks.
fn allowed(text: &str, fences: bool) -> String {
    let mut open: Option<(char, usize)> = None;
    let mut left = String::with_capacity(text.len());
    for line in unthought(text).lines() {
        let bare = line.trim_start();
        let mark = bare.chars().next().filter(|mark| "`~".contains(*mark));
        let run = mark.map_or(0, |mark| bare.chars().take_while(|c| *c == mark).count());
        let rest = bare.get(run..).unwrap_or_default();
        match (open, mark) {
            (Some((fence, length)), mark) => {
                let closes = mark == Some(fence) && run >= length && rest.trim().is_empty();
                open = open.filter(|_| !closes);
                if !fences || closes {
                    continue;
                }
            }
            (None, Some(mark)) if run >= 3 && !(mark == '`' && rest.contains('`')) => {
                open = Some((mark, run));
                continue;
            }
            (None, _) if bare.starts_with('>') => continue,
            (None, _) => {}
        }
        left.push_str(line);
        left.push('\n');
    }
    left
}

/// The text without its reasoning. A span that is never closed is reasoning to the end where it
/// begins a line; elsewhere the tag is a word like any other.
fn unthought(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (mut left, mut from) = (String::with_capacity(text.len()), 0);
    let rest = |at: usize| lower.get(at..).unwrap_or_default();
    while let Some((at, open, close)) = [("<think>", "</think>"), ("<thinking>", "</thinking>")]
        .into_iter()
        .filter_map(|(open, close)| Some((from + rest(from).find(open)?, open, close)))
        .min()
    {
        let inside = at + open.len();
        left.push_str(text.get(from..at).unwrap_or_default());
        let line = text.get(..at).and_then(|before| before.rsplit('\n').next());
        from = match rest(inside).find(close) {
            Some(end) => inside + end + close.len(),
            None if line.is_none_or(|line| line.trim().is_empty()) => text.len(),
            None => {
                left.push_str(open);
                inside
            }
        };
    }
    left.push_str(text.get(from..).unwrap_or_default());
    left
}

/// How often a name stands in a text as a whole name, as it is or as JSON may spell it.
fn mentions(text: &str, name: &str) -> usize {
    let count = |text: &str, name: &str| {
        let part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        let whole = |(at, found): &(usize, &str)| {
            let before = text.get(..*at).and_then(|text| text.chars().next_back());
            let after = text.get(at + found.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(part) && !after.is_some_and(part)
        };
        text.match_indices(name).filter(whole).count()
    };
    let quoted = Value::from(name).to_string();
    let spelled = count(text, quoted.trim_matches('"'));
    count(text, name).max(spelled).max(count(&unescaped(text), name))
}

/// The text with the escapes of JSON strings replaced by what they stand for.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let code = escape.strip_prefix('u').and_then(|digits| digits.get(..4));
        let code = code.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        if let Some(read) = code.and_then(char::from_u32) {
            out.push(read);
            rest = &escape[5..];
        } else {
            let mut chars = escape.chars();
            out.extend(chars.next());
            rest = chars.as_str();
        }
    }
    out.push_str(rest);
    out
}

/// A, "arguments are never silently changed between the model and the tool": the digest of what
/// passed validation is that of the arguments requested, or of the last rewriting of them, where
/// neither defaults were filled in nor a marker was cleared (arguments that are not kept have a
/// digest all the same); and text that is no JSON passes only when it is blank and stands for no
/// arguments. Arguments that were recorded scrubbed may have another digest, and are then unknown.
pub(super) fn arguments_as_sent(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        for validated in call.each::<ToolArgsValidated>() {
            let fact = validated.fact;
            if fact.status != "passed" {
                continue;
            }
            // A call that is resumed comes with what was cleared and filled in before.
            let mut looks = call.each::<ToolArgsValidated>().filter(|seen| seen.at <= validated.at);
            let changed =
                looks.any(|seen| seen.fact.marker_cleared || !seen.fact.defaults.is_empty());
            // A rewriting whose arguments are not kept, nor their digest, may have changed them.
            let mut rewrites = call.each::<ToolCallRewritten>();
            let lost = |fact: &ToolCallRewritten| fact.unlogged && fact.args_digest.is_none();
            if rewrites.any(|seen| seen.at < validated.at && lost(seen.fact)) {
                tally.unknown(|| format!("what {} was rewritten to is not kept", call.id));
                continue;
            }
            let nothing = Value::Object(serde_json::Map::new());
            let (seq, args) = match sent(call, validated.at) {
                None => continue,
                Some((seq, Sent::Digest(digest))) => {
                    if !changed && let Some(real) = fact.args_digest {
                        tally.checked();
                        if real != digest {
                            tally.broken(Some(call.id), &[seq, validated.seq()], OTHERS.into());
                        }
                    }
                    continue;
                }
                Some((seq, Sent::Json(args))) => (seq, args),
                Some((seq, Sent::Text(text))) => {
                    tally.checked();
                    if !fact.blank || !text.trim().is_empty() {
                        let message = "arguments that are no JSON passed validation".into();
                        tally.broken(Some(call.id), &[seq, validated.seq()], message);
                        continue;
                    }
                    (seq, &nothing)
                }
            };
            let (Some(digest), false) = (fact.args_digest, changed) else { continue };
            let Ok(real) = canon::digest("args", args) else { continue };
            if real != digest && scrubbed(args) {
                tally.unknown(|| format!("the arguments of {} are recorded scrubbed", call.id));
                continue;
            }
            tally.checked();
            if real != digest {
                tally.broken(Some(call.id), &[seq, validated.seq()], OTHERS.into());
            }
        }
    }
}

const OTHERS: &str = "other arguments were validated than the model sent";

pub(super) enum Sent<'a> {
    Json(&'a Value),
    Text(&'a str),
    /// They are not kept.
    Digest(Digest),
}

/// The arguments of a call before a place: of the last rewriting that has some, else as requested.
pub(super) fn sent<'a>(call: &Call<'a>, before: usize) -> Option<(u64, Sent<'a>)> {
    let mut rewrites = call.each::<ToolCallRewritten>().filter(|seen| seen.at < before).rev();
    let rewritten = rewrites.find_map(|seen| {
        let digest = || seen.fact.args_digest.map(Sent::Digest);
        Some((seen.seq(), seen.fact.args.as_ref().map(Sent::Json).or_else(digest)?))
    });
    if rewritten.is_some() {
        return rewritten;
    }
    let request = call.first::<ToolCallRequested>().filter(|seen| seen.at < before)?;
    let fact = request.fact;
    let text = || fact.raw_args.as_deref().map(Sent::Text);
    let digest = || fact.args_digest.map(Sent::Digest);
    let sent = fact.args.as_ref().map(Sent::Json).or_else(text).or_else(digest)?;
    Some((request.seq(), sent))
}

pub(super) fn scrubbed(args: &Value) -> bool {
    match args {
        Value::String(text) => text.contains(REDACTED),
        Value::Array(items) => items.iter().any(scrubbed),
        Value::Object(map) => {
            map.iter().any(|(key, value)| key.contains(REDACTED) || scrubbed(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
