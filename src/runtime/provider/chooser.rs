//! The embedded default: a deterministic, offline chooser that reads only what a model would
//! read. It measures how separable the advertised texts are, not how a given model behaves.
//!
//! The last user message is ranked against the advertised tools; below the threshold it abstains,
//! else it fills the best tool's arguments from what the message shows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::listing::{doc, tools};
use super::rank::{Pick, Picker, ToolDoc};
use super::{Provider, harness_fault};
use crate::base::digest::Digest;
use crate::journal::event::turn::ProviderFault;
use crate::runtime::BoxFuture;
use crate::runtime::dialect::{Payload, RawCall, Reply};

/// Confidence below which no tool is called. Calibrated on the prompts of the `calibration`
/// suite, which no default run uses; `tests/it/calibration.rs` holds it to that.
pub const THRESHOLD: f64 = 0.566;

/// Names the chooser's behaviour: texts, weights and threshold. Part of comparability keys.
pub const VERSION: &str = "chooser/2";

/// Candidates shown in an explanation.
const SHOWN: usize = 5;

/// Indexes by digest of the tool list, shared by all trials of a run.
#[derive(Debug, Default)]
pub struct IndexCache {
    known: Mutex<HashMap<Digest, Arc<Listed>>>,
}

/// The tools of one payload, indexed.
struct Listed {
    names: Vec<String>,
    picker: Picker,
}

impl std::fmt::Debug for Listed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listed").field("names", &self.names).finish_non_exhaustive()
    }
}

/// What the chooser made of one message.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The best tool's advertised name and how well it fits; `None` when nothing matches.
    pub best: Option<(String, f64)>,
    /// Its confidence, 0 to 1.
    pub confidence: f64,
    /// The whole explanation.
    pub explanation: Value,
    /// Arguments found in the message.
    pub arguments: serde_json::Map<String, Value>,
}

/// The lexical chooser.
#[derive(Debug, Clone)]
pub struct Chooser {
    cache: Arc<IndexCache>,
}

impl Chooser {
    /// A chooser that shares indexes.
    pub fn new(cache: Arc<IndexCache>) -> Self {
        Self { cache }
    }

    fn answer(&self, payload: &Payload) -> Result<Reply, ProviderFault> {
        let Some(prompt) = last_user_text(payload)? else {
            // A result came back: the request is served.
            let text = Some("Done.".to_owned());
            return Ok(Reply { text, finish: Some("stop".to_owned()), ..Reply::default() });
        };
        let choice = self.choose(payload, &prompt)?;
        let explanation = Some(choice.explanation);
        match choice.best {
            Some((name, _)) if choice.confidence >= THRESHOLD => {
                let arguments = Value::Object(choice.arguments).to_string();
                let calls = vec![RawCall::native(None, name, arguments)];
                let finish = Some("tool_calls".to_owned());
                let reply = Reply { calls, finish, explanation, ..Reply::default() };
                payload.spell(reply).map_err(harness_fault)
            }
            _ => {
                let text = Some("No tool fits this request.".to_owned());
                let finish = Some("stop".to_owned());
                Ok(Reply { text, finish, explanation, ..Reply::default() })
            }
        }
    }

    /// Ranks the payload's tools for a message and explains the ranking.
    ///
    /// # Errors
    /// When the payload's tools cannot be read, which is a bug of the dialect.
    pub fn choose(&self, payload: &Payload, prompt: &str) -> Result<Choice, ProviderFault> {
        let listed = self.listed(payload)?;
        let pick = listed.picker.pick(prompt, SHOWN);
        let name = |tool: usize| listed.names.get(tool).cloned().unwrap_or_default();
        let best = pick.ranking.hits.first().map(|hit| (name(hit.tool), hit.score));
        let explanation = explanation(&pick, name);
        let arguments = pick.extracted.arguments;
        Ok(Choice { best, confidence: pick.confidence.value, explanation, arguments })
    }

    fn listed(&self, payload: &Payload) -> Result<Arc<Listed>, ProviderFault> {
        let mut known = self.cache.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listed) = known.get(&payload.tools.digest) {
            return Ok(Arc::clone(listed));
        }
        let tools = tools(payload)?;
        let docs: Vec<ToolDoc> = tools.iter().map(doc).collect();
        let listed = Arc::new(Listed {
            names: tools.iter().map(|tool| tool.name.clone()).collect(),
            picker: Picker::build(&docs, tools.into_iter().map(|tool| tool.schema).collect()),
        });
        known.insert(payload.tools.digest, Arc::clone(&listed));
        Ok(listed)
    }
}

impl Provider for Chooser {
    fn name(&self) -> &'static str {
        "chooser"
    }

    fn reply<'a>(
        &'a mut self,
        payload: &'a Payload,
    ) -> BoxFuture<'a, Result<Reply, ProviderFault>> {
        let answer = self.answer(payload);
        Box::pin(std::future::ready(answer))
    }
}

/// The candidates with what speaks for and against each.
fn explanation(pick: &Pick, name: impl Fn(usize) -> String) -> Value {
    let candidates: Vec<Value> = pick
        .ranking
        .hits
        .iter()
        .zip(&pick.terms)
        .map(|(hit, terms)| {
            let terms: Vec<Value> = terms
                .iter()
                .map(|term| {
                    json!({"term": term.term, "field": format!("{:?}", term.field),
                        "weight": rounded(term.weight)})
                })
                .collect();
            json!({"name": name(hit.tool), "score": rounded(hit.score), "terms": terms})
        })
        .collect();
    json!({"provider": VERSION, "threshold": THRESHOLD,
        "confidence": rounded(pick.confidence.value), "candidates": candidates})
}

/// Six significant decimals are enough to explain, and keep reports short.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// The last message when it is the user's own words; `None` when it is a tool's result.
fn last_user_text(payload: &Payload) -> Result<Option<String>, ProviderFault> {
    let messages: Vec<Value> = serde_json::from_str(&payload.messages)
        .map_err(|error| harness_fault(format!("unreadable messages: {error}")))?;
    let Some(last) = messages.last() else { return Ok(None) };
    let text = last.get("content").or_else(|| last.pointer("/parts/0/text"));
    let text = text.and_then(Value::as_str);
    let user = last.get("role").and_then(Value::as_str) == Some("user");
    let own = user && !text.is_some_and(|text| text.starts_with("<tool_result "));
    Ok(text.filter(|_| own).map(str::to_owned))
}
