//! A program that embeds the tool runtime, without a model and without a suite: it registers two
//! tools, asks what would become of a call, runs it with a person's word, and judges the record.
//!
//! ```text
//! cargo run --example embed
//! ```
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example shows what it does"
)]

use std::error::Error;

use proofmark::base::secret::Secret;
use proofmark::law::law::Verdict as Law;
use proofmark::manager::{Setting, ToolManager};
use proofmark::runtime::catalog::desk::Basis;
use proofmark::runtime::credential::Broker;
use proofmark::runtime::guard::approver::Scripted as Person;
use proofmark::runtime::guard::{AnswerScope, Verdict};
use proofmark::runtime::policy::Principal;
use proofmark::runtime::provider::scripted::Scripted;
use proofmark::runtime::resolved::Knobs;
use proofmark::runtime::view::Environment;
use proofmark::tool::intent::Intent;
use proofmark::tool::manifest;
use serde_json::json;

const WRITE: &str = "
schema: proofmark/tool@1
toolId: file.write
description: {summary: Writes a text file of the workspace.}
intent: {actionTypes: [write]}
schemas:
  inputSchema:
    type: object
    properties: {path: {type: string}, content: {type: string}}
    required: [path, content]
effects: {reads: [], writes: ['workspace:**'], mutatesState: true}
permissions: {approvalPolicy: always}
sandbox: {mode: workspace_write}
execution: {adapter: 'builtin:file.write'}
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let setting = Setting {
        scope: "evaluation".to_owned(),
        principal: Principal::new("ada", ["workspace_write".to_owned()].into()),
        rules: String::new(),
        knobs: Knobs::default(),
        environment: Environment { evaluation: true, max_tools: 16, ..Environment::default() },
        broker: Broker::default(),
        receipt_key: Some(Secret::new("kept apart from the journal")),
    };
    // No model speaks here; a person says yes once.
    let yes = Verdict::Yes { strong: false, scope: AnswerScope::Once };
    let model = Box::new(Scripted::new(Vec::new().into()));
    let person = Box::new(Person::new(vec![("file.write".to_owned(), yes)]));
    let mut manager = ToolManager::open(folder.path(), setting, (model, person))?;

    let tool = manifest::parse("write.yaml", WRITE).map_err(|problems| format!("{problems:?}"))?;
    println!("registered: {:?}", manager.register(&tool)?);
    let why = Basis::Without("it is being tried".to_owned());
    println!("enabled: {:?}", manager.enable(&tool.tool_id, "evaluation", &why)?);
    for (tool, reason) in manager.resolve(&Intent::default()).exposed {
        println!("shown: {tool}: {reason}");
    }

    let args = json!({"path": "note.txt", "content": "hello"});
    let call = manager.validate_args("file.write", &args).map_err(|bad| format!("{bad:?}"))?;
    let judged = manager.authorize(&call);
    println!("policy: {}: {}", judged.decision.name(), judged.reason());
    println!("runs: {}", manager.prepare_runtime(&call)?.enforcement);

    let report = manager.execute("file.write", &args).await;
    println!("outcome: {:?}", report.outcome.as_ref().map(|outcome| outcome.name()));
    let findings = manager.verify();
    let held = findings.iter().filter(|one| matches!(one.verdict, Law::Holds { .. })).count();
    let broken = findings.iter().filter(|one| matches!(one.verdict, Law::Broken { .. })).count();
    println!("laws: {held} hold, {broken} are broken");
    println!("{} facts in the journal", manager.close().await.entries().len());
    Ok(())
}
