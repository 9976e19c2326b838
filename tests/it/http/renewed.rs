//! A credential that ends is obtained anew: by its age before a start, and when the service does
//! not take it. Nobody sees a value, old or new.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use proofmark::base::secret::Secret;
use proofmark::journal::event::call::{AttemptFailed, ToolCallFinished};
use proofmark::journal::outcome::Blame;
use proofmark::journal::{Event, Journal};
use proofmark::law::Judge;
use proofmark::law::law::Verdict;
use proofmark::runtime::BoxFuture;
use proofmark::runtime::credential::Renew;
use serde_json::json;

use super::scene::{CallLeft, Server, left, play, record, tool};

/// Gives `value-number-1`, `value-number-2` and so on, but no more than so many.
#[derive(Debug)]
struct Mint {
    asked: AtomicU32,
    most: u32,
}

impl Renew for Mint {
    fn renew(&self) -> BoxFuture<'_, Result<Secret, String>> {
        let count = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let value = Secret::new(format!("value-number-{count}"));
        let given = if count <= self.most { Ok(value) } else { Err("closed".to_owned()) };
        Box::pin(std::future::ready(given))
    }
}

struct Went {
    left: CallLeft,
    /// What the service was given, in order.
    given: Vec<String>,
    asked: u32,
}

/// One call of a tool that is not idempotent, at a service that takes one value.
fn went(takes: &str, (most, lifetime): (u32, Option<u64>)) -> Went {
    let server = Server::start();
    let tool = tool(&[
        ("/v1/items/{id}/x", "/token/{id}"),
        ("idempotent: true", "idempotent: false"),
        ("method: GET", "method: POST"),
    ]);
    let mint = Arc::new(Mint { asked: AtomicU32::new(0), most });
    let mut play = play(&server.host(), tool, &[json!({"id": takes})]);
    play.secrets = vec![("KEY", Secret::new("value-number-0"))];
    play.renewals = vec![("KEY", Arc::clone(&mint) as Arc<dyn Renew>, lifetime)];
    let left = left(play.ends());
    let given = server.seen().into_iter().map(|seen| seen.headers["authorization"].clone());
    let given = given.map(|auth| auth.trim_start_matches("Bearer value-number-").to_owned());
    Went { given: given.collect(), asked: mint.asked.load(Ordering::SeqCst), left }
}

fn each<T>(journal: &Journal, pick: fn(&Event) -> Option<&T>) -> Vec<&T> {
    journal.entries().iter().filter_map(|entry| pick(&entry.event)).collect()
}

fn failures(journal: &Journal) -> Vec<&AttemptFailed> {
    each(journal, |event| match event {
        Event::AttemptFailed(fact) => Some(fact),
        _ => None,
    })
}

fn finished(journal: &Journal) -> Vec<&ToolCallFinished> {
    each(journal, |event| match event {
        Event::ToolCallFinished(fact) => Some(fact),
        _ => None,
    })
}

#[test]
fn a_service_that_does_not_take_a_value_is_asked_once_more_with_a_new_one() {
    let Went { left, given, asked } = went("1", (9, None));
    assert_eq!((given, asked), (vec!["0".to_owned(), "1".to_owned()], 1));
    assert_eq!(left.code(), None, "{}", left.transcript());
    let journal = &left.played.journal;
    let [failed] = failures(journal)[..] else { panic!("{:?}", failures(journal)) };
    assert_eq!((failed.fault.code.as_str(), failed.obtained.len()), ("reauthorize", 0));
    assert_eq!(finished(journal)[0].obtained.len(), 1);
    // The service says both; neither is in anything that is kept.
    let kept = record(&left.played);
    assert!(kept.contains("welcome, Bearer") && !kept.contains("value-number-"), "{kept}");
}

#[test]
fn a_value_that_is_too_old_is_not_sent_at_all() {
    let Went { left, given, asked } = went("1", (9, Some(1)));
    assert_eq!((given, asked), (vec!["1".to_owned()], 1));
    assert_eq!((left.code(), failures(&left.played.journal).len()), (None, 0));
}

#[test]
fn a_service_that_takes_no_new_value_either_is_not_asked_again() {
    let Went { left, given, .. } = went("7", (9, None));
    assert_eq!(given, ["0", "1"]);
    assert_eq!(left.code(), Some((Blame::Operator, "reauthorize")));
}

#[test]
fn where_no_value_is_obtained_the_model_is_told_what_is_needed_and_no_more() {
    for (lifetime, sent) in [(None, vec!["0".to_owned()]), (Some(1), Vec::new())] {
        let Went { left, given, .. } = went("1", (0, lifetime));
        assert_eq!(given, sent);
        assert_eq!(left.code(), Some((Blame::Operator, "reauthorize")));
        let told = left.transcript();
        assert!(told.contains("credential KEY has expired; it must be authorized again"), "{told}");
        assert!(!told.contains("closed") && !told.contains("value-number"), "{told}");
    }
}

#[test]
fn a_law_sees_a_new_value_that_leaked() {
    let Went { left, .. } = went("1", (9, None));
    let journal = &left.played.journal;
    let verdict = |leaked: Option<&str>| {
        let mut entries = journal.entries().to_vec();
        for entry in &mut entries {
            if let (Event::TurnFinished(_), Some(value)) = (&entry.event, leaked) {
                entry.turn = entry.turn.clone();
                let fact = proofmark::journal::event::turn::StateUpdated::new(json!({"v": value}));
                entry.event = fact.into();
            }
        }
        let findings = Judge::new(None).journal(&entries, journal.blobs());
        findings.into_iter().find(|one| one.law == "no-secrets").unwrap().verdict
    };
    assert!(matches!(verdict(None), Verdict::Holds { .. }), "{:?}", verdict(None));
    for value in ["value-number-0", "value-number-1"] {
        let found = verdict(Some(value));
        assert!(matches!(found, Verdict::Broken { .. }), "{value}: {found:?}");
    }
    assert!(matches!(verdict(Some("value-number-2")), Verdict::Holds { .. }));
}
