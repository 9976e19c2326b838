//! What was done before a process died is not done again, and what was asked is not forgotten.

use proofmark::journal::Journal;
use proofmark::runtime::guard::Verdict;
use proofmark::runtime::provider::scripted::say;
use proofmark::runtime::session::Session;

use super::Row;
use super::record::{count, outcomes};
use crate::played::{Play, calls, key, played, run, step, yes};
use crate::resume::{consumed, killed, sound};
use crate::tools::tool;

/// The number of entries up to the `nth` of that name, it included.
fn up_to(journal: &Journal, name: &str, nth: usize) -> usize {
    let mut found = journal.entries().iter().enumerate();
    let mut found = found.by_ref().filter(|(_, entry)| entry.event.name() == name);
    found.nth(nth - 1).unwrap().0 + 1
}

/// Kills a session after an entry and lets it go on.
fn gone_on(play: &Play, (journal, after): (&Journal, usize)) -> Journal {
    let cut = killed(journal, after);
    let mut again = play.clone();
    again.steps.drain(..consumed(cut.entries()));
    again.starts_at = cut.entries().last().unwrap().at;
    let mut session = Session::resume(again.parts(), cut.clone()).unwrap();
    run(session.go_on(&mut |_| Vec::new()));
    sound(&cut, &session, &key(), "resumed");
    session.close().0
}

fn mail(answer: Verdict) -> Play {
    let list = [("post_send", "{}"), ("mail_send", "{}")];
    let tools = vec![tool("post.send", "L2", ""), tool("mail.send", "L4", "")];
    let mut play = Play::new(tools, vec![calls(&list), step(say("Sent."))]);
    play.answers = vec![("mail.send", answer)];
    play
}

pub const ROWS: &[Row] = &[
    ("B046", || {
        let play = mail(yes());
        let journal = played(&play);
        for name in ["ApprovalRequested", "ApprovalGranted", "ToolSandboxPrepared"] {
            let whole = gone_on(&play, (&journal, up_to(&journal, name, 1)));
            assert_eq!(outcomes(&whole), ["post_send succeeded", "mail_send succeeded"], "{name}");
            assert_eq!(count(&whole, "ToolCallStarted"), 2, "each of them once: {name}");
        }
    }),
    ("B062", || {
        // The first call has run when the second one is torn away.
        let play = mail(yes());
        let journal = played(&play);
        let whole = gone_on(&play, (&journal, up_to(&journal, "ToolCallStarted", 2)));
        assert_eq!(outcomes(&whole), ["post_send succeeded", "mail_send interrupted"]);
        assert_eq!(count(&whole, "ToolCallStarted"), 2);
    }),
    ("B102", || {
        // While a question is open nothing has run; a request that a provider accepts follows.
        let play = mail(Verdict::No { reason: "not now".to_owned() });
        let journal = played(&play);
        let whole = gone_on(&play, (&journal, up_to(&journal, "ApprovalRequested", 1)));
        assert_eq!(outcomes(&whole), ["post_send succeeded", "mail_send denied:operator"]);
        // What may have run is not said to have been cancelled.
        let play = mail(yes());
        let journal = played(&play);
        let whole = gone_on(&play, (&journal, up_to(&journal, "ToolCallStarted", 1)));
        assert_eq!(outcomes(&whole)[0], "post_send interrupted");
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}
