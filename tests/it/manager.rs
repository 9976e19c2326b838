//! The tool manager as another program embeds it: from discovery to the effect, and back.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use proofmark::base::secret::Secret;
use proofmark::journal::Outcome;
use proofmark::law::law::Verdict as Law;
use proofmark::manager::{BadCall, ManagerError, Setting, ToolManager, ToolSource};
use proofmark::runtime::catalog::desk::Basis;
use proofmark::runtime::catalog::lifecycle::State;
use proofmark::runtime::credential::Broker;
use proofmark::runtime::guard::approver::Scripted as Person;
use proofmark::runtime::guard::{AnswerScope, Verdict};
use proofmark::runtime::mcp::{Candidates, Launch, Transport};
use proofmark::runtime::policy::Decision;
use proofmark::runtime::provider::scripted::Scripted;
use proofmark::runtime::resolved::Knobs;
use proofmark::runtime::surface::Emission;
use proofmark::runtime::view::Environment;
use proofmark::tool::descriptor::SandboxMode;
use proofmark::tool::id::ToolId;
use proofmark::tool::intent::Intent;
use serde_json::json;

use crate::escape::host;
use crate::faults::scene::builtin;
use crate::served::{python, reading};
use crate::tools::dev;

fn setting(environment: Environment) -> Setting {
    Setting {
        scope: "evaluation".to_owned(),
        principal: dev("workspace_write external_read"),
        rules: String::new(),
        knobs: Knobs::default(),
        environment: Environment { evaluation: true, max_tools: 64, ..environment },
        broker: Broker::default(),
        receipt_key: Some(Secret::new("a key of the embedding program")),
    }
}

fn open(folder: &std::path::Path, environment: Environment, yes: &[&str]) -> ToolManager {
    let answer = Verdict::Yes { strong: true, scope: AnswerScope::Session };
    let answers = yes.iter().map(|tool| ((*tool).to_owned(), answer.clone())).collect();
    let people = (Box::new(Scripted::new(Vec::new().into())), Box::new(Person::new(answers)));
    ToolManager::open(folder, setting(environment), (people.0, people.1)).unwrap()
}

fn id(text: &str) -> ToolId {
    ToolId::parse(text).unwrap()
}

fn without() -> Basis {
    Basis::Without("it is being tried".to_owned())
}

#[tokio::test]
async fn a_tool_goes_from_its_registration_to_its_effect_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut manager = open(folder.path(), Environment::default(), &[]);
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&seen);
    manager
        .observe(Box::new(move |one: &Emission| kept.lock().unwrap().push(one.text.to_string())));
    let (read, mut write) = (builtin("file.read", "L0"), builtin("file.write", "L2"));
    write.schemas.input_schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    });
    assert_eq!(manager.register(&read).unwrap(), State::Verified);
    assert_eq!(manager.register(&write).unwrap(), State::Verified);
    // What is not enabled is not there.
    let bad = manager.validate_args("file.read", &json!({"path": "a"}));
    assert!(matches!(bad, Err(BadCall::Unavailable(_))), "{bad:?}");
    let refused = manager.execute("file.read", &json!({"path": "a"})).await;
    assert!(matches!(refused.outcome, Some(Outcome::Unavailable { .. })), "{refused:?}");
    for tool in ["file.read", "file.write"] {
        assert_eq!(manager.enable(&id(tool), "evaluation", &without()).unwrap(), State::Enabled);
    }
    let live = manager.enable(&id("file.read"), "live", &without());
    assert!(matches!(live, Err(ManagerError::Refused(_))), "no evidence, not enabled outside");
    let found = manager.resolve(&Intent::default());
    assert_eq!((found.exposed.len(), found.withheld.len()), (2, 0), "{found:?}");
    // What asks changes nothing.
    let before = manager.journal().entries().len();
    let args = json!({"path": "note.txt", "content": "hello"});
    let call = manager.validate_args("file.write", &args).unwrap();
    assert_eq!(manager.authorize(&call).decision, Decision::Allow);
    assert_eq!(manager.prepare_runtime(&call).unwrap().enforcement, "workspace");
    let errors = manager.validate_args("file.write", &json!({"path": 7}));
    let Err(BadCall::Arguments(errors)) = errors else { panic!("{errors:?}") };
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert_eq!(manager.journal().entries().len(), before);
    let wrote = manager.execute("file.write", &args).await;
    assert_eq!(wrote.outcome, Some(Outcome::Succeeded), "{wrote:?}");
    let back = manager.execute("file.read", &json!({"path": "note.txt"})).await;
    assert!(back.shown.unwrap().starts_with("hello"));
    manager.undo(wrote.call.as_deref().unwrap()).await.unwrap_err();
    let account = manager.explain(wrote.call.as_deref().unwrap()).unwrap();
    assert!(account.answers.len() > 20, "{}", account.answers.len());
    let broken = manager.verify().into_iter().filter(|f| matches!(f.verdict, Law::Broken { .. }));
    assert_eq!(broken.count(), 0);
    assert!(seen.lock().unwrap().iter().any(|text| text.contains("file.write")), "it was observed");
    let journal = manager.close().await;
    assert!(journal.entries().len() > before);
}

#[tokio::test]
async fn a_server_is_discovered_reviewed_called_and_a_grant_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let Some(served) = python(&reading(&["find"]), "serve(lambda m: answer(m, text('found')))")
    else {
        return;
    };
    let environment = Environment { servers: Arc::new(served.servers()), ..Environment::default() };
    let mut manager = open(folder.path(), environment, &["srv.find", "srv.find"]);
    let found = manager.discover(&ToolSource::Mcp(Box::new(served.server.clone()))).await.unwrap();
    let tool = found.descriptors[0].clone();
    assert_eq!(manager.register(&tool).unwrap(), State::SecurityReviewRequired);
    manager.enable(&tool.tool_id, "evaluation", &without()).unwrap_err();
    assert_eq!(manager.review(&tool.tool_id, "Ada", true).unwrap(), State::Verified);
    manager.enable(&tool.tool_id, "evaluation", &without()).unwrap();
    let called = manager.execute("srv.find", &json!({})).await;
    assert_eq!(called.outcome, Some(Outcome::Succeeded), "{called:?}");
    assert!(called.shown.unwrap().starts_with("found"));
    assert!(!manager.revoke("no-such-grant", "Ada").unwrap());
    manager.close().await;
    assert_eq!(served.count("started"), 2, "once to be listed, once to be called");
    // Another manager finds the registry as it was left.
    let again = open(folder.path(), Environment::default(), &[]);
    assert_eq!(again.state(&tool.tool_id), State::Enabled);
}

#[tokio::test]
async fn what_a_server_offers_beside_tools_is_asked_of_it_and_changes_nothing() {
    let Some(mut served) = python(&reading(&["send"]), "serve(lambda m: None)") else { return };
    served.server.deadlines.request = Duration::from_millis(700);
    let folder = tempfile::tempdir().unwrap();
    let manager = open(folder.path(), Environment::default(), &[]);
    let before = manager.journal().entries().len();
    // It declares tools alone: it is not asked for what it does not have.
    assert_eq!(manager.candidates(&served.server).await.unwrap(), Candidates::default());
    let read = manager.read_resource((&served.server, "file:///a"), 100).await;
    assert!(read.unwrap_err().to_string().contains("resources/read"));
    assert_eq!(manager.journal().entries().len(), before);
}

/// Says by its tool's description whether it could write beside its own folder.
const TELLS: &str = r#"
def note(text):
    try:
        with open(os.environ["NOTES"], "a") as notes:
            notes.write(text + "\n")
        TOOLS[0]["description"] = "It is free."
    except OSError:
        TOOLS[0]["description"] = "It is confined."
serve(lambda m: None)
"#;

#[tokio::test]
async fn a_server_that_is_only_listed_is_confined_as_it_says() {
    let (Some(host), Some(served)) = (host(), python(&reading(&["find"]), TELLS)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let environment = Environment { host: host.clone(), ..Environment::default() };
    let manager = open(folder.path(), environment, &[]);
    let Transport::Stdio(launch) = served.server.transport.clone() else { panic!("no program") };
    let installed = launch.cwd.clone().unwrap().display().to_string();
    // A program itself, and no script that looks for one.
    let launch = Launch { program: "/usr/bin/python3".to_owned(), ..launch };
    for (mode, expected) in
        [(SandboxMode::None, "It is free."), (SandboxMode::ReadOnly, "It is confined.")]
    {
        let mut server = served.server.clone();
        server.transport = Transport::Stdio(launch.clone());
        server.sandbox.mode = mode;
        server.sandbox.filesystem.read_roots = vec!["workspace".to_owned(), installed.clone()];
        let found = manager.discover(&ToolSource::Mcp(Box::new(server.clone()))).await;
        let found = found.unwrap_or_else(|error| panic!("{mode:?}: {error}"));
        assert_eq!(found.descriptors[0].description.summary, expected);
        let before = served.notes().len();
        manager.candidates(&server).await.unwrap();
        assert_eq!(served.notes().len() > before, mode == SandboxMode::None);
    }
    // What cannot be enforced here is not started at all.
    let bare = tempfile::tempdir().unwrap();
    let manager = open(bare.path(), Environment::default(), &[]);
    let mut server = served.server.clone();
    server.sandbox.mode = SandboxMode::ReadOnly;
    let before = served.notes().len();
    let refused = manager.candidates(&server).await.unwrap_err().to_string();
    assert!(refused.starts_with("it is not started: "), "{refused}");
    assert_eq!(served.notes().len(), before);
}
