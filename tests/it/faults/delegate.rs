//! Delegates that may more than whoever called them, or that hang where nobody answers.

use proofmark::runtime::guard::{AnswerScope, Verdict};
use proofmark::runtime::session::Session;
use proofmark::runtime::turn::TurnEnd;
use proofmark::runtime::view::Availability;
use proofmark::runtime::view::availability::Deferred;
use proofmark::runtime::view::pattern::Pattern;

use super::Row;
use super::record::outcomes;
use super::scene::{Play, ask, lawful, no, runtime, say, yes};
use crate::delegates::{GOAL, helper, shown};
use crate::tools::tool;

/// What the parent and its helper had: how the helper's calls ended, and how the parent's did.
struct Family {
    helper: Vec<String>,
    parent: Vec<String>,
    told: String,
    asked: usize,
}

const RULES: &str = "schema: proofmark/rules@1\nrules:\n  - {id: secrets, decision: deny, reason: \
                     they are secret, when: {args: {path: {equals: secrets/k.txt}}}, examples: \
                     [{tool: doc.read, args: {path: secrets/k.txt}}], counterexamples: [{tool: \
                     doc.read, args: {path: notes.txt}}]}\n";

/// The helper is told to look and makes these calls.
fn family(calls: &[(&str, &str)], answers: Vec<(&'static str, Verdict)>) -> Family {
    let tools = vec![
        helper("doc.read, disk.wipe, mail.send", ""),
        tool("doc.read", "L0", ""),
        tool("disk.wipe", "L5", ""),
        tool("mail.send", "L4", ""),
    ];
    let script =
        vec![ask(&[GOAL]), ask(&[("doc_read", "{\"path\":\"secrets/k.txt\"}")]), say("ok")];
    let agents = vec![("helper", vec![ask(calls), say("looked")])];
    let play = Play { rules: RULES, answers, agents, ..Play::new(tools, script) };
    let mut session: Session = play.open(&|_| unreachable!("no hooks"));
    let end = runtime().block_on(session.turn("do it".to_owned()));
    assert_eq!(end, TurnEnd::FinalText);
    let [child] = session.children() else { panic!("one helper") };
    lawful(session.journal());
    lawful(child);
    Family {
        helper: outcomes(child),
        parent: outcomes(session.journal()),
        told: shown(&session),
        asked: super::record::count(child, "ApprovalRequested"),
    }
}

pub const ROWS: &[Row] = &[
    ("B084", || {
        for (answers, end, asked) in [
            (vec![("mail.send", no("not now"))], "mail_send denied:operator", 1),
            (vec![("mail.send", yes(AnswerScope::Once))], "mail_send succeeded", 1),
            (Vec::new(), "mail_send denied:no_approver", 1),
        ] {
            let family = family(&[("mail_send", "{}")], answers);
            assert_eq!((family.helper, family.asked), (vec![end.to_owned()], asked));
        }
    }),
    ("B087", || {
        let list = [("doc_read", "{\"path\":\"secrets/k.txt\"}"), ("doc_read", "{\"path\":\"a\"}")];
        let family = family(&list, Vec::new());
        assert_eq!(family.helper, ["doc_read denied:policy", "doc_read succeeded"]);
        assert_eq!(family.parent, ["helper succeeded", "doc_read denied:policy"], "whoever calls");
    }),
    ("B089", || {
        // An agent that nobody set up has no session, and so no tools without guards.
        let tools = vec![helper("doc.read", ""), tool("doc.read", "L0", "")];
        let play = Play::new(tools, vec![ask(&[GOAL]), say("ok")]);
        let mut session = play.open(&|_| unreachable!("no hooks"));
        runtime().block_on(session.turn("do it".to_owned()));
        assert!(session.children().is_empty());
        let ends = outcomes(session.journal());
        assert!(ends.len() == 1 && ends[0].starts_with("helper failed:"), "{ends:?}");
    }),
    ("B090", || {
        let family = family(&[("mail_send", "{}"), ("doc_read", "{}")], Vec::new());
        assert_eq!(family.helper, ["mail_send denied:no_approver", "doc_read succeeded"]);
        assert!(family.told.contains("looked"), "it goes on and comes back: {}", family.told);
    }),
    ("B086", || {
        // The coordinator's own requests show nothing but the task; the user denies one tool.
        let coordinator = |ceiling: &str, denied: &'static [&'static str]| {
            let task = helper("shell.run, disk.wipe", ceiling);
            let tools = vec![task, tool("shell.run", "L0", ""), tool("disk.wipe", "L0", "")];
            let calls = [("shell_run", "{}"), ("disk_wipe", "{}")];
            let script = vec![ask(&[GOAL]), ask(&[("shell_run", "{}")]), say("ok")];
            let agents = vec![("helper", vec![ask(&calls), say("looked")])];
            let deferred =
                ["shell.run", "disk.wipe"].map(|name| Deferred::Tools(Pattern::new(name)));
            let availability = Availability { deferred: deferred.into(), ..Default::default() };
            let play = Play { agents, availability, excluded: denied, ..Play::new(tools, script) };
            let mut session: Session = play.open(&|_| unreachable!("no hooks"));
            runtime().block_on(session.turn("do it".to_owned()));
            let [child] = session.children() else { panic!("one helper") };
            lawful(session.journal());
            lawful(child);
            (outcomes(child), outcomes(session.journal()))
        };
        let ran = |what: &str, how: &str| format!("{what} {how}");
        // Its own selection is a ceiling for its worker unless it says otherwise.
        let (worker, own) = coordinator("", &[]);
        let withheld = "unavailable:withheld";
        let lacks = [ran("shell_run", withheld), ran("disk_wipe", withheld)];
        assert_eq!((worker, &own[1]), (lacks.to_vec(), &lacks[0]));
        let (worker, own) = coordinator(", toolCeiling: scoped", &["disk.wipe"]);
        let has = [ran("shell_run", "succeeded"), ran("disk_wipe", "unavailable:excluded")];
        assert_eq!((worker, &own[1]), (has.to_vec(), &lacks[0]));
    }),
    ("B245", || {
        for (answers, end) in [
            (Vec::new(), "disk_wipe denied:no_approver"),
            // A plain yes is no word for what destroys.
            (vec![("disk.wipe", yes(AnswerScope::Once))], "disk_wipe denied:operator"),
        ] {
            let family = family(&[("disk_wipe", "{}")], answers);
            assert_eq!(family.helper, [end]);
        }
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}
