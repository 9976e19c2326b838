//! What the act did: what it touched, what it left, what came back.

use super::{Scene, Told, list, quote};
use crate::journal::Event;
use crate::journal::event::call::*;
use crate::journal::event::turn::StateUpdated;
use crate::law::index::Seen;
use crate::tool::effect::EffectClass;

/// One side of what a call touches.
struct Side {
    /// What it is, for sentences.
    what: &'static str,
    declared: fn(&ToolCallStarted) -> Vec<String>,
    seen: fn(&ObservedEffects) -> Vec<String>,
    /// Whether a way to observe sees this side at all, so that nothing seen means nothing done.
    sees: fn(&ObservedEffects) -> bool,
}

const READS: Side = Side {
    what: "reads",
    declared: |start| start.reads.clone(),
    seen: |effects| effects.reads.clone(),
    sees: |effects| effects.method == "workspace",
};

const WRITES: Side = Side {
    what: "writes",
    declared: |start| start.writes.clone(),
    seen: changed,
    sees: ObservedEffects::sees_changes,
};

const MEMORY: Side = Side {
    what: "writes of memory",
    declared: |start| of_memory(&start.writes),
    seen: |effects| of_memory(&changed(effects)),
    sees: ObservedEffects::sees_changes,
};

const OUTSIDE: Side = Side {
    what: "changes outside",
    declared: |start| {
        let inside = |name: &&String| name.starts_with("workspace:") || name.starts_with("memory:");
        start.writes.iter().filter(|name| !inside(name)).cloned().collect()
    },
    seen: |effects| effects.external_calls.clone(),
    sees: |effects| effects.sees_changes() || effects.method == "http",
};

fn changed(effects: &ObservedEffects) -> Vec<String> {
    effects.writes.iter().chain(&effects.deletes).cloned().collect()
}

fn of_memory(names: &[String]) -> Vec<String> {
    names.iter().filter(|name| name.starts_with("memory:")).cloned().collect()
}

fn touched(scene: &Scene<'_>, side: &Side) -> Told {
    let Some(start) = scene.started() else {
        return match scene.settled().filter(|end| !end.fact.outcome.started()) {
            Some(end) => {
                let outcome = end.fact.outcome.name();
                let text = format!("Nothing: it never started, it ended as {outcome}.");
                Told::known(text, [end.seq()])
            }
            None => scene.missing("ToolCallStarted"),
        };
    };
    let declared = match (side.declared)(start.fact) {
        none if none.is_empty() => format!("the start names no {}", side.what),
        some => format!("the start names as {}: {}", side.what, list(some)),
    };
    let finished = scene.call.last::<ToolCallFinished>();
    let facts = [start.seq()].into_iter().chain(finished.map(|seen| seen.seq()));
    let Some(effects) = finished.and_then(|seen| seen.fact.effects.as_ref()) else {
        return Told::unknown(format!("nothing was observed; {declared}"), facts);
    };
    let seen = (side.seen)(effects);
    let method = &effects.method;
    match (seen.is_empty(), method.as_str()) {
        (true, "simulated") => {
            Told::known(format!("Nothing real, it was simulated; {declared}."), facts)
        }
        (false, "simulated") => {
            let text = format!("Nothing real, it was simulated as listed; {declared}.");
            Told::known(text, facts).items(seen)
        }
        (false, _) => {
            Told::known(format!("What is listed was seen ({method}); {declared}."), facts)
                .items(seen)
        }
        (true, _) if (side.sees)(effects) => {
            Told::known(format!("Nothing was seen ({method}); {declared}."), facts)
        }
        (true, _) => {
            let why = format!("it could not be observed (method {method}); {declared}");
            Told::unknown(why, facts)
        }
    }
}

pub(super) fn reads(scene: &Scene<'_>) -> Told {
    touched(scene, &READS)
}

pub(super) fn writes(scene: &Scene<'_>) -> Told {
    touched(scene, &WRITES)
}

pub(super) fn sent_out(scene: &Scene<'_>) -> Told {
    let told = touched(scene, &OUTSIDE);
    let Some(start) = scene.started() else { return told };
    let class = start.fact.effect_class;
    let visible = class.filter(|class| *class >= EffectClass::External);
    let class = visible.map(|class| format!(" Its effect class is {}.", class.name()));
    let request =
        start.fact.command.as_ref().filter(|_| start.fact.adapter.as_deref() == Some("http"));
    let request = request.map(|text| format!(" It asked: {}.", quote(text)));
    // What a request held is no fact of its own; nothing is said of it beyond that.
    let left = told.known && !told.items.is_empty() && !told.text.starts_with("Nothing");
    let data = left.then(|| " Beyond the arguments, what was sent is not recorded.".to_owned());
    let more = [class, request, data].into_iter().flatten().collect::<String>();
    let end = if told.known || more.is_empty() { "" } else { "." };
    Told { text: format!("{}{end}{more}", told.text), ..told }
}

pub(super) fn full_result(scene: &Scene<'_>) -> Told {
    let Some(finished) = scene.call.last::<ToolCallFinished>() else {
        return scene.missing("ToolCallFinished");
    };
    let fact = finished.fact;
    if let Some(id) = &fact.artifact_id {
        let stored =
            scene.call.each::<ArtifactPersisted>().find(|seen| seen.fact.artifact_id == *id);
        return match stored {
            Some(seen) => {
                let (kind, bytes) = (&seen.fact.kind, seen.fact.bytes);
                let hash = seen.fact.content_hash.short();
                let text = format!("In artifact {id} ({kind}, {bytes} bytes, hash {hash}).");
                Told::known(text, [finished.seq(), seen.seq()])
            }
            None => {
                let text =
                    format!("In artifact {id}; the journal does not record that it was stored.");
                Told::known(text, [finished.seq()])
            }
        };
    }
    let chars = fact.result_chars.map(|chars| format!("{chars} characters"));
    let size = chars.unwrap_or_else(|| "a size that is not recorded".to_owned());
    if fact.unlogged {
        let digest = fact.result_digest.map(|digest| format!(", digest {}", digest.short()));
        let text =
            format!("Nowhere, it was not to be logged: {size}{}.", digest.unwrap_or_default());
        return Told::known(text, [finished.seq()]);
    }
    match scene.settled() {
        Some(Seen {
            entry,
            fact: ToolCallSettled { shown_chars: Some(shown), cut: false, .. },
            ..
        }) => {
            let text = format!("In no artifact: it has {size}, and the {shown} shown are not cut.");
            Told::known(text, [finished.seq(), entry.seq])
        }
        _ => Told::unknown(format!("no artifact is recorded; it has {size}"), [finished.seq()]),
    }
}

pub(super) fn verified(scene: &Scene<'_>) -> Told {
    let Some(seen) = scene.call.last::<ToolResultValidated>() else {
        return scene.missing("ToolResultValidated");
    };
    let fact = seen.fact;
    let head = match fact.status.as_str() {
        "passed" => "Yes, it passed",
        "failed" => "No, it failed",
        "skipped" => "It was not checked",
        _ => return Told::unknown("its status has no name here", [seen.seq()]),
    };
    let summary = fact.summary.as_ref().map(|text| format!(": {}", quote(text)));
    let receipt = scene.call.last::<ReceiptIssued>();
    let proof = receipt.map_or("no receipt was issued", |_| "a receipt proves the result");
    let text = format!("{head}{}; {proof}.", summary.unwrap_or_default());
    let facts = [seen.seq()].into_iter().chain(receipt.map(|seen| seen.seq()));
    Told::known(text, facts).items(fact.undeclared.clone())
}

/// What to say where nothing of a kind is recorded.
fn none(scene: &Scene<'_>, what: &str) -> Told {
    match scene.settled() {
        Some(end) if scene.index.over(scene.call) => {
            Told::known(format!("The record holds no {what} of this call."), [end.seq()])
        }
        Some(end) => {
            let why = format!("no {what} is recorded, and the record ends before the turn did");
            Told::unknown(why, [end.seq()])
        }
        None => {
            let why = format!("no {what} is recorded, and not how the call ended");
            Told::unknown(why, [])
        }
    }
}

pub(super) fn state(scene: &Scene<'_>) -> Told {
    let (mut said, mut facts) = (Vec::new(), Vec::new());
    for seen in scene.call.each::<StateUpdated>() {
        said.push(format!("It patched the state: {}", quote(&seen.fact.patch.to_string())));
        facts.push(seen.seq());
    }
    let active: Vec<_> = scene.call.each::<ToolActivated>().collect();
    if !active.is_empty() {
        let tools = list(active.iter().map(|seen| seen.fact.tool_id.as_str()));
        said.push(format!("from the next request on these tools can be called: {tools}"));
        facts.extend(active.iter().map(|seen| seen.seq()));
    }
    match said.is_empty() {
        true => none(scene, "change of state"),
        false => Told::known(format!("{}.", said.join("; ")), facts),
    }
}

pub(super) fn memory(scene: &Scene<'_>) -> Told {
    let candidates = scene.call.entries().filter_map(|(_, entry)| match &entry.event {
        Event::MemoryCandidate(fact) => Some((entry.seq, quote(&fact.summary))),
        _ => None,
    });
    let (seqs, words): (Vec<u64>, Vec<String>) = candidates.unzip();
    let told = touched(scene, &MEMORY);
    if words.is_empty() {
        return told;
    }
    let end = if told.known { "" } else { "." };
    let text = format!("It offered {} for memory. {}{end}", list(words), told.text);
    let facts = told.facts.iter().copied().chain(seqs);
    Told::known(text, facts).items(told.items.clone())
}

pub(super) fn context(scene: &Scene<'_>) -> Told {
    let messages = scene.call.messages.iter();
    let messages: Vec<_> =
        messages.filter_map(|place| scene.index.transcript.get(*place)).collect();
    if messages.is_empty() {
        return none(scene, "message");
    }
    let chars: usize = messages.iter().map(|message| message.message.chars).sum();
    let facts = messages.iter().map(|message| message.entry.seq);
    let cut = scene.settled().filter(|end| end.fact.cut);
    let (whole, result) = (cut.is_none(), scene.call.last::<ToolCallFinished>());
    let of = result.and_then(|seen| seen.fact.result_chars);
    let of = of.map(|chars| format!(", of a result of {chars}")).unwrap_or_default();
    let text = match whole {
        true => format!("A message of {chars} characters{of}."),
        false => format!("A message of {chars} characters{of}; its middle is cut."),
    };
    Told::known(text, facts.chain(cut.map(|end| end.seq())))
}

pub(super) fn artifacts(scene: &Scene<'_>) -> Told {
    let stored: Vec<_> = scene.call.each::<ArtifactPersisted>().collect();
    if stored.is_empty() {
        return none(scene, "artifact");
    }
    let items = stored.iter().map(|seen| {
        let fact = seen.fact;
        let (id, kind, bytes) = (&fact.artifact_id, &fact.kind, fact.bytes);
        format!("{id} ({kind}, {bytes} bytes, hash {})", fact.content_hash.short())
    });
    let text = format!("{} stored.", stored.len());
    Told::known(text, stored.iter().map(|seen| seen.seq())).items(items.collect())
}
