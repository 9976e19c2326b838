//! Time, size and the end of a turn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use proofmark::journal::outcome::Blame;
use proofmark::journal::{Event, Outcome};
use proofmark::runtime::guard::Hook;
use proofmark::runtime::turn::driver::Signal;
use serde_json::json;

use super::scene::{Server, at, call, play, tool};
use crate::faults::scene::runtime;

#[test]
fn the_time_ends_a_request_wherever_it_is() {
    let server = Server::start();
    let check = |path: &str, reached: &[&str], method: &str, shown: &str| {
        let begun = Instant::now();
        let limit = ("timeoutMs: 20000", "timeoutMs: 300");
        let tool = tool(&[("/v1/items/{id}/x", path), limit]);
        let left = call(&server.host(), tool, json!({"id": 7}));
        assert_eq!(left.code(), Some((Blame::Server, "timeout")), "{path}");
        assert_eq!(left.reached(), reached, "{path}");
        assert_eq!(left.effects.as_ref().unwrap().method, method, "{path}");
        assert!(left.transcript().contains(shown), "{}", left.transcript());
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    };
    check("/half/{id}", &["own.test:80"], "http", "the first half");
    // Whether it was reached, nobody has seen.
    check("/hang/{id}", &[], "unknown", "no end after 300 ms");
    assert!(server.was_left());
}

#[test]
fn a_body_without_an_end_is_left() {
    let server = Server::start();
    let begun = Instant::now();
    let left = call(&server.host(), at("/flood/{id}"), json!({"id": 7}));
    assert_eq!(left.outcome, Outcome::Succeeded, "{}", left.transcript());
    let shown = left.transcript();
    assert!(shown.contains("only the first 2000 are kept"), "{shown}");
    assert!(shown.contains("[… at least "), "{shown}");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(server.was_left());
}

#[test]
fn a_cancelled_request_is_torn_down_at_once() {
    let server = Server::start();
    for path in ["/half/{id}", "/hang/{id}"] {
        let play = play(&server.host(), at(path), &[json!({"id": 7})]);
        let mut session = play.open(&|_| -> Arc<dyn Hook> { unreachable!("there are no hooks") });
        let remote = session.remote();
        let begun = Instant::now();
        runtime().block_on(async {
            let cancel = async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                remote.send(Signal::Cancel("enough".to_owned()));
            };
            tokio::join!(session.turn("do it".to_owned()), cancel)
        });
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        let journal = session.close().0;
        crate::faults::scene::lawful(&journal);
        let torn = journal.entries().iter().find_map(|entry| match &entry.event {
            Event::TornDown(fact) => fact.how.clone(),
            _ => None,
        });
        assert_eq!(torn.as_deref(), Some("its request was dropped and the connection closed"));
    }
    assert!(server.was_left());
}
