//! A session from the first word to the last, with a scripted provider and a scripted person.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proofmark::base::secret::Secret;
use proofmark::base::world::{Millis, World};
use proofmark::eval::calls;
use proofmark::journal::{Event, Journal};
use proofmark::law::Judge;
use proofmark::law::law::Verdict as LawVerdict;
use proofmark::runtime::credential::Broker;
use proofmark::runtime::dialect::{Dialect, Message, RawCall, Reply, ToolList, Transcript};
use proofmark::runtime::evidence::receipt::ReceiptKey;

use proofmark::runtime::guard::approver::Scripted as Person;
use proofmark::runtime::guard::{AnswerScope, Hooks, Verdict};
use proofmark::runtime::provider::scripted::{Answer, ExpectedRequest, Scripted, Step, call, say};
use proofmark::runtime::resolved::{Knobs, Resolved};
use proofmark::runtime::session::{Parts, Session};
use proofmark::runtime::turn::TurnEnd;
use proofmark::tool::descriptor::Descriptor;
use proofmark::tool::id::ToolId;
use proofmark::tool::intent::Intent;

use crate::tools::{Scene, tool};

/// A clock that ticks with every look at it.
#[derive(Default)]
struct Ticking {
    now: Millis,
    ids: u64,
}

impl World for Ticking {
    fn now(&mut self) -> Millis {
        self.now += 1;
        self.now
    }

    fn next_id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}{}", self.ids)
    }
}

struct Setting {
    tools: Vec<Descriptor>,
    dialect: Dialect,
    steps: Vec<Step>,
    answers: Vec<(&'static str, Verdict)>,
    excluded: &'static [&'static str],
}

impl Setting {
    fn new(tools: Vec<Descriptor>, steps: Vec<Step>) -> Self {
        Self { tools, dialect: Dialect::OpenAiChat, steps, answers: Vec::new(), excluded: &[] }
    }

    fn open(self) -> Session {
        let scene = Scene::new(self.tools);
        let knobs = Knobs { dialect: self.dialect, ..Knobs::default() };
        let excluded: BTreeSet<ToolId> =
            self.excluded.iter().filter_map(|name| ToolId::parse(name)).collect();
        let answers = self.answers.into_iter().map(|(tool, said)| (tool.to_owned(), said));
        let resolved = Arc::new(Resolved {
            hooks: Hooks::default(),
            registry: Arc::new(scene.registry),
            principal: scene.principal,
            rules: Arc::new(scene.rules),
            environment: scene.environment,
            excluded,
            availability: Arc::default(),
            knobs,
            intent: ("rules".to_owned(), Intent::default()),
            broker: Broker::new(BTreeMap::new()),
            receipt_key: Some(ReceiptKey { id: "test".to_owned(), key: key() }),
            views: Arc::default(),
        });
        let provider = Box::new(Scripted::new(self.steps.into()));
        let approver = Box::new(Person::new(answers.collect()));
        Session::open(Parts {
            world: Box::new(Ticking::default()),
            ..Parts::new("s1".into(), resolved, provider, approver)
        })
    }
}

fn key() -> Secret {
    Secret::new("a key for tests".to_owned())
}

fn step(reply: Reply) -> Step {
    Step { expect: ExpectedRequest::default(), answer: Answer::Reply(reply) }
}

fn calls_of(list: &[(&str, &str)]) -> Step {
    let raw = |(index, (name, arguments)): (usize, &(&str, &str))| {
        RawCall::native(Some(format!("p{index}")), *name, *arguments)
    };
    step(call(list.iter().enumerate().map(raw).collect()))
}

fn run(setting: Setting) -> (TurnEnd, Journal, Transcript) {
    let mut session = setting.open();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let end = runtime.block_on(session.turn("do it".to_owned()));
    assert_eq!(session.leftover(), None);
    let (journal, transcript) = session.close();
    let findings = Judge::new(Some(key())).journal(journal.entries(), journal.blobs());
    let broken = findings.iter().filter(|f| matches!(f.verdict, LawVerdict::Broken { .. }));
    assert_eq!(broken.count(), 0, "{findings:#?}");
    (end, journal, transcript)
}

/// One line per event: its call by order of appearance, and its name.
fn story(journal: &Journal) -> String {
    let mut calls: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for entry in journal.entries() {
        let call = entry.call.as_deref().map(|call| {
            let known = calls.iter().position(|known| *known == call);
            known.unwrap_or_else(|| {
                calls.push(call);
                calls.len() - 1
            })
        });
        let call = call.map_or_else(|| "-".to_owned(), |index| format!("p{index}"));
        lines.push(format!("{call} {}", entry.event.name()));
    }
    lines.join("\n")
}

fn two_calls(dialect: Dialect) -> Setting {
    let tools = vec![tool("file.read", "L0", ""), tool("mail.send", "L4", "")];
    let calls = [("file_read", "{\"path\":\"a\"}"), ("mail_send", "{}")];
    let steps = vec![calls_of(&calls), step(say("Read, not sent."))];
    let no = Verdict::No { reason: "not today".to_owned() };
    Setting { dialect, answers: vec![("mail.send", no)], ..Setting::new(tools, steps) }
}

#[test]
fn a_turn_with_two_calls_of_which_one_is_asked_about_and_denied() {
    let (end, journal, transcript) = run(two_calls(Dialect::OpenAiChat));
    assert_eq!(end, TurnEnd::FinalText);
    assert_eq!(transcript.final_text(), Some("Read, not sent."));
    insta::assert_snapshot!(story(&journal), @r"
    - SessionOpened
    - ToolVerified
    - ToolVerified
    - UserPromptSubmitted
    - TurnStarted
    - IntentDeclared
    - TranscriptAppended
    - ViewCompiled
    - ModelRequested
    - ModelReplied
    - BatchOpened
    p0 ToolCallRequested
    p1 ToolCallRequested
    p0 ToolArgsValidated
    p0 ToolPolicyChecked
    p0 ToolSandboxPrepared
    p1 ToolArgsValidated
    p1 ToolPolicyChecked
    p1 ApprovalRequested
    p1 ApprovalDenied
    p1 ToolCallSettled
    - DispatchPlanned
    p0 ToolCallStarted
    p0 ToolCallFinished
    p0 ToolResultValidated
    p0 ReceiptIssued
    p0 ToolCallSettled
    - TranscriptAppended
    - ViewCompiled
    - ModelRequested
    - ModelReplied
    - TranscriptAppended
    - TurnFinished
    ");
    let shown = Dialect::OpenAiChat.request(&ToolList::new(String::new()), &transcript);
    let shown: Vec<serde_json::Value> = serde_json::from_str(&shown.messages).unwrap();
    assert_eq!(shown.len(), 5);
    assert!(shown[2]["content"].as_str().unwrap().starts_with("file.read: done (simulated)"));
    assert_eq!(shown[3]["content"], "denied by the operator: not today");
    let (facts, _) = calls::read(journal.entries());
    let seen: Vec<_> = facts
        .iter()
        .map(|call| (&*call.tool, call.asked, call.approved, call.started, call.outcome))
        .collect();
    assert_eq!(
        seen,
        [
            ("file.read", false, false, true, Some("succeeded")),
            ("mail.send", true, false, false, Some("denied")),
        ]
    );
}

#[test]
fn the_story_is_the_same_in_every_dialect_and_every_time() {
    let (_, first, _) = run(two_calls(Dialect::OpenAiChat));
    for dialect in Dialect::ALL {
        let (end, journal, _) = run(two_calls(dialect));
        assert_eq!((end, story(&journal)), (TurnEnd::FinalText, story(&first)));
        let (_, again, _) = run(two_calls(dialect));
        assert_eq!(journal.entries(), again.entries(), "{}", dialect.name());
    }
}

#[test]
fn a_call_says_where_it_stood_and_a_cut_one_never_runs() {
    let call =
        |path: &str| format!("{{\"name\":\"file_read\",\"arguments\":{{\"path\":\"{path}\"}}}}");
    let text = [
        &format!("<think>\n<tool_call>{}</tool_call>\n</think>", call("rehearsed")),
        &format!("<tool_call>{}</tool_call>", call("</tool_call>")),
        "<invoke name=\"file_read\"><parameter name=\"path\">b &amp; c</parameter></invoke>",
        &format!("```json\n{}\n```", call("example")),
        &format!("```tool_call\n{}\n```", call("d")),
        &format!("<tool_call>{}", call("cut")),
    ];
    let steps = vec![step(say(&text.join("\n"))), step(say("ok"))];
    let setting = Setting::new(vec![tool("file.read", "L0", "")], steps);
    let (_, journal, _) = run(Setting { dialect: Dialect::Text, ..setting });
    let seen: Vec<String> = journal
        .entries()
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::ToolCallRequested(fact) => {
                let path = fact.args.as_ref().map_or("-", |args| args["path"].as_str().unwrap());
                Some(format!("{} {path}", fact.origin.as_deref().unwrap()))
            }
            Event::ToolCallStarted(_) => Some("started".to_owned()),
            Event::ToolCallSettled(fact) => Some(fact.outcome.name().to_owned()),
            _ => None,
        })
        .collect();
    let ran = ["started", "succeeded"];
    let first = ["tagged </tool_call>", "invoke b & c", "fenced d", "tagged -", "rejected"];
    assert_eq!(seen, [&first[..], &ran, &ran, &ran].concat());
}

/// One call to `mail.send`, with an answer or without: its outcome, and what the model is shown.
fn check_answer(level: &str, answer: Option<Verdict>, outcome: &str, shown: &str) {
    let tools = vec![tool("mail.send", level, "")];
    let steps = vec![calls_of(&[("mail_send", "{}")]), step(say("ok"))];
    let answers = answer.into_iter().map(|said| ("mail.send", said)).collect();
    let (_, journal, transcript) = run(Setting { answers, ..Setting::new(tools, steps) });
    let (facts, _) = calls::read(journal.entries());
    assert_eq!(facts[0].outcome, Some(outcome));
    assert_eq!(facts[0].started, outcome == "succeeded");
    let Message::Tool { text, is_error, .. } = &transcript.messages()[2] else {
        panic!("{transcript:?}")
    };
    assert!(text.starts_with(shown), "{text}");
    assert_eq!(*is_error, outcome != "succeeded", "a replacement is no success");
}

#[test]
fn every_answer_a_person_can_give() {
    let yes = |strong| Some(Verdict::Yes { strong, scope: AnswerScope::Once });
    check_answer("L4", yes(false), "succeeded", "mail.send: done");
    check_answer("L4", yes(true), "succeeded", "mail.send: done");
    check_answer("L5", yes(true), "succeeded", "mail.send: done");
    let weak = "denied by the operator: the stronger confirmation was not given";
    check_answer("L5", yes(false), "denied", weak);
    let no = Verdict::No { reason: "no".to_owned() };
    check_answer("L4", Some(no), "denied", "denied by the operator: no");
    let text = Verdict::Replace { text: "sent by hand".to_owned() };
    check_answer("L4", Some(text), "replaced", "the operator's replacement for a result:\nsent by");
    check_answer("L4", Some(Verdict::Timeout), "denied", "denied: nobody answered in time");
    check_answer("L4", None, "denied", "not approved, there is nobody to ask");
}

#[test]
fn calls_that_cannot_be_made_reveal_nothing() {
    let tools = vec![tool("file.read", "L0", ""), tool("mail.send", "L4", "")];
    let calls = [
        ("mail_send", "{}"),
        ("mail.send", "{}"),
        ("nosuch", "{}"),
        ("file_read", "[]"),
        ("file_read", "{"),
        ("file_read", ""),
    ];
    let steps = vec![calls_of(&calls), step(say("ok"))];
    let setting = Setting { excluded: &["mail.send"], ..Setting::new(tools, steps) };
    let (_, journal, transcript) = run(setting);
    let (facts, _) = calls::read(journal.entries());
    let seen: Vec<_> = facts.iter().map(|call| (&*call.tool, call.offered, call.outcome)).collect();
    assert_eq!(
        seen,
        [
            ("mail.send", false, Some("unavailable")),
            ("mail.send", false, Some("unavailable")),
            ("nosuch", false, Some("unavailable")),
            ("file.read", true, Some("rejected")),
            ("file.read", true, Some("rejected")),
            ("file.read", true, Some("succeeded")),
        ],
        "a withheld tool has its own name, however it was spelled"
    );
    let texts: Vec<String> = transcript.messages()[2..5]
        .iter()
        .map(|message| match message {
            Message::Tool { text, .. } => {
                text.replace("mail_send", "X").replace("mail.send", "X").replace("nosuch", "X")
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(texts, ["there is no tool `X` in this request"; 3]);
}
