//! The clauses of one-line journals, by phase.

use super::super::availability::{CONFINED, PROCESSES};
use super::*;
use crate::journal::event::call::*;
use crate::journal::event::catalog::*;
use crate::journal::event::turn::*;
use crate::journal::receipt::{Scope, compute};
use crate::tool::risk::Level;

/// Adds the events of one clause; `None` when it cannot be read.
pub(super) fn clause(script: &mut Script, text: &str) -> Option<()> {
    let clause = Clause::parse(text)?;
    let verb = clause.word(0)?;
    match verb {
        "open" | "user" | "say" | "trace" | "at" | "end" => session(script, &clause, verb),
        "found" | "cat" | "norm" | "enable" | "block" => catalog(script, &clause, verb),
        "view" => view(script, &clause),
        "model" => model(script, &clause),
        "req" => request(script, &clause, text),
        "app" => append(script, &clause),
        "rename" | "val" | "pol" | "grant" | "box" => prepare(script, &clause, verb),
        "ask" | "yes" | "no" | "edit" | "late" | "gone" => approve(script, &clause, verb),
        "run" => run(script, &clause),
        "fail" | "fin" | "chk" | "art" => finish(script, &clause, verb),
        "rcpt" => receipt(script, &clause),
        "set" => settle(script, &clause),
        _ => guard_words::clause(script, &clause, verb)
            .or_else(|| dispatch_words::clause(script, &clause, verb))
            .or_else(|| limits_words::clause(script, &clause, verb)),
    }
}

/// The text of an option, or another.
fn option(clause: &Clause<'_>, name: &str, or: &str) -> String {
    clause.options.get(name).copied().unwrap_or(or).to_owned()
}

/// The comma-separated names of an option.
pub(super) fn names(clause: &Clause<'_>, option: &str) -> Option<Vec<String>> {
    clause.options.get(option).map(|text| text.split(',').map(str::to_owned).collect())
}

fn session(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    let event: Event = match verb {
        "open" => SessionOpened {
            principal: "dev".into(),
            tenant: clause.options.get("tenant").map(|name| (*name).to_owned()),
            scopes: names(clause, "scopes").unwrap_or_else(|| vec!["workspace_write".into()]),
            canaries: clause.flag("c").then_some(1),
            secret_key: clause.flag("h").then(|| "k".into()),
            secret_hashes: clause.flag("h").then(listed).into_iter().collect(),
            max_tool_result_chars: clause.number("max"),
            receipts: clause.flag("r"),
            scope: None,
            excluded_tools: clause.list(true).into_iter().map(tool_id).collect(),
            approver: Some(option(clause, "approver", "scripted")),
        }
        .into(),
        "user" => {
            script.state(clause.session).turn += 1;
            let text = clause.word(1).unwrap_or("please").into();
            script.add(clause.session, None, UserPromptSubmitted::new(text));
            let (provider, dialect) = ("scripted".into(), "openai".into());
            let iteration_cap = Some(10);
            TurnStarted { iteration_cap, ..TurnStarted::new(provider, dialect) }.into()
        }
        "say" => {
            let (text, chars) = script.text(clause.word(1)?.into());
            let role = "user".into();
            let message = TranscriptMessage { role, text, chars, call: None, calls: Vec::new() };
            TranscriptAppended { messages: vec![message] }.into()
        }
        "trace" => TraceUpdated { summary: clause.word(1)?.into() }.into(),
        "at" => {
            script.clock = clause.word(1)?.parse().ok()?;
            return Some(());
        }
        _ => dispatch_words::end(script, clause).into(),
    };
    script.add(clause.session, None, event);
    Some(())
}

fn catalog(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    for name in clause.word(1)?.split(',') {
        let (tool_id, tool_version) = (tool_id(name), digest("version", name));
        let effects_declared = !clause.flag("bare");
        let event: Event = match verb {
            "found" => {
                let source = clause.options.get("source").map(|source| (*source).into());
                ToolDiscovered { tool_id, source }.into()
            }
            "norm" => {
                let source = clause.options.get("source").map(|source| (*source).into());
                ToolNormalized { tool_id, tool_version, source }.into()
            }
            "cat" => ToolVerified { tool_id, tool_version, effects_declared, scope: None }.into(),
            "enable" => {
                let scope = option(clause, "scope", "evaluation");
                let evidence = clause.options.get("evidence").map(|word| digest("golden", word));
                ToolEnabled { tool_id, tool_version, scope, evidence, because: None }.into()
            }
            _ => {
                let by = clause.options.get("by").map(|name| (*name).to_owned());
                ToolBlocked { tool_id, reason: "rug pull".into(), by }.into()
            }
        };
        script.add(clause.session, None, event);
    }
    Some(())
}

fn view(script: &mut Script, clause: &Clause<'_>) -> Option<()> {
    let shown = clause.list(false);
    let source = |tool: &str| {
        let of =
            |source: &&str| names(clause, source).is_some_and(|of| of.iter().any(|t| t == tool));
        ["mcp", "skill"].into_iter().find(of).map(str::to_owned)
    };
    let exposed = shown.iter().map(|name| ExposedTool {
        tool_id: tool_id(name),
        tool_version: digest("version", name),
        name: (*name).into(),
        reason: "its intent matches".into(),
        decision: option(clause, "decision", "allow"),
        level: Level::L0,
        projection: option(clause, "projection", "preview"),
        source: source(name),
    });
    let withheld = clause.list(true).into_iter().map(|name| WithheldTool {
        tool_id: tool_id(name),
        filter: clause.options.get("filter").copied().unwrap_or("intent").into(),
        reason: "its intent does not match".into(),
    });
    let view = digest("view", &shown.join(","));
    let event = ViewCompiled { view, exposed: exposed.collect(), withheld: withheld.collect() };
    script.state(clause.session).shown = shown.iter().map(|name| (*name).into()).collect();
    script.add(clause.session, None, event);
    Some(())
}

fn model(script: &mut Script, clause: &Clause<'_>) -> Option<()> {
    let mut advertised = script.state(clause.session).shown.clone();
    if let Some(names) = clause.word(1) {
        advertised = names.split(',').map(str::to_owned).collect();
    }
    let (tools, _) = script.text(format!("tools: {}", advertised.join(" ")));
    let unlogged = clause.flag("unlogged");
    let messages = "messages: please";
    // What is not kept has a name all the same.
    let messages = match unlogged {
        true => Blobs::name("messages: what is not kept"),
        false => script.text(messages.into()).0,
    };
    let payload = digest("payload", clause.session);
    let provider = clause.options.get("by").copied().unwrap_or("scripted").into();
    let dialect = "openai".into();
    let (advertised, tokens, view_tokens) = (advertised.into(), Some(100), Some(50));
    let event = ModelRequested {
        provider,
        dialect,
        payload,
        tools,
        messages,
        advertised,
        tokens,
        view_tokens,
        unlogged,
    };
    script.add(clause.session, None, event);
    Some(())
}

fn request(script: &mut Script, clause: &Clause<'_>, text: &str) -> Option<()> {
    let (_, pairs) = text.split_once("req")?;
    let pairs: Option<Vec<(&str, &str)>> = pairs
        .trim_end_matches("loose")
        .split(',')
        .map(|pair| pair.trim().split_once(' '))
        .collect();
    let pairs = pairs?;
    let calls = u32::try_from(pairs.len()).ok()?;
    let finish = Some("tool_calls".into());
    let replied = ModelReplied { finish, ..ModelReplied::new(calls) };
    script.add(clause.session, None, replied);
    for (index, (call, tool)) in (0..).zip(&pairs) {
        let (tool, word) = tool.trim().split_once(':').unwrap_or((tool.trim(), call));
        let args = serde_json::json!({"n": word});
        script.state(clause.session).args.insert((*call).into(), args.clone());
        let requested = ToolCallRequested {
            tool_id: tool.into(),
            args: Some(args),
            index: Some(index),
            proposed_by: Some("model".into()),
            ..ToolCallRequested::new(String::new())
        };
        script.add(clause.session, Some(call), requested);
        script.state(clause.session).tools.insert((*call).into(), tool.into());
    }
    if !clause.flag("loose") {
        let slots = pairs.iter().map(|(call, _)| call_id(call)).collect();
        script.add(clause.session, None, BatchOpened::new("b1".into(), slots));
    }
    Some(())
}

fn append(script: &mut Script, clause: &Clause<'_>) -> Option<()> {
    let calls: Vec<&str> = clause.word(1)?.split(',').collect();
    let mut messages = Vec::new();
    if !clause.flag("loose") {
        let (text, chars) = script.text("calls".into());
        let calls = calls.iter().map(|call| call_id(call)).collect();
        let role = "assistant".into();
        messages.push(TranscriptMessage { role, text, chars, call: None, calls });
    }
    for call in calls {
        let shown = script.state(clause.session).texts.get(call).copied();
        let (text, chars) = shown.unwrap_or((Blobs::name(""), 0));
        let (role, answers) = ("tool".into(), Some(call_id(call)));
        let calls = Vec::new();
        messages.push(TranscriptMessage { role, text, chars, call: answers, calls });
    }
    script.add(clause.session, None, TranscriptAppended { messages });
    Some(())
}

fn tool_of(script: &mut Script, clause: &Clause<'_>, call: &str) -> String {
    script.state(clause.session).tools.get(call).cloned().unwrap_or_else(|| "a".into())
}

fn prepare(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    let call = clause.word(1)?;
    let tool = tool_of(script, clause, call);
    let event: Event = match verb {
        "rename" => {
            let name = clause.word(2)?.to_owned();
            let state = script.state(clause.session);
            state.tools.insert(call.into(), name.clone());
            let args = clause.options.get("args").map(|word| serde_json::json!({"n": word}));
            if let Some(args) = &args {
                state.args.insert(call.into(), args.clone());
            }
            ToolCallRewritten { args, by: Some("hook".into()), ..ToolCallRewritten::new(name) }
                .into()
        }
        "val" => {
            let failed = clause.flag("failed");
            ToolArgsValidated {
                status: if failed { "failed" } else { "passed" }.into(),
                tool_id: Some(tool_id(&tool)),
                tool_version: Some(digest("version", &tool)),
                args_digest: Some(guard_words::args_digest(script, clause, call)),
                ..ToolArgsValidated::new(String::new())
            }
            .into()
        }
        "pol" => ToolPolicyChecked {
            decision: clause.word(2)?.into(),
            reason: "the level's default".into(),
            level: Some(Level::L1),
            effect_class: Some(class(clause)),
            rules: clause.options.get("rule").map(|rule| (*rule).into()).into_iter().collect(),
            call_digest: Some(chosen(clause, "digest", ("call", call))),
            ..ToolPolicyChecked::new(String::new(), String::new())
        }
        .into(),
        "grant" => GrantUsed { grant_id: option(clause, "id", "g1") }.into(),
        _ => {
            let mode = clause.options.get("mode").map(|mode| (*mode).into());
            let enforcement = Some(option(clause, "enforced", "simulated"));
            let sandbox_id = "sbx_1".into();
            let server = clause.options.get("server");
            let mechanisms = match clause.options.get("by").copied() {
                Some("all") => [&CONFINED[..], &PROCESSES[..1]].concat(),
                Some(names) => names.split(',').collect(),
                None => Vec::new(),
            };
            ToolSandboxPrepared {
                mechanisms: mechanisms.into_iter().map(str::to_owned).collect(),
                mode,
                enforcement,
                server_id: server.map(|name| (*name).to_owned()),
                server_identity: server.map(|name| digest("identity", name)),
                ..ToolSandboxPrepared::new(sandbox_id)
            }
            .into()
        }
    };
    script.add(clause.session, Some(call), event);
    Some(())
}

fn approve(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    let call = clause.word(1)?;
    let to = clause.options.get("to").copied().unwrap_or(call);
    let approval_id = format!("ap{to}");
    let call_digest = chosen(clause, "digest", ("call", call));
    let strong = clause.flag("strong");
    let (decider, channel) = ("operator".to_owned(), "scripted".to_owned());
    let event: Event = match verb {
        "ask" => ApprovalRequested {
            approval_id,
            summary: "may it run?".into(),
            call_digest,
            strong,
            args_preview: None,
            principal: Some("dev".into()),
            scopes: Vec::new(),
            risk: None,
            reasons: vec!["it asks".into()],
            expires_at: Some(clause.number("until").unwrap_or(script.clock + 60_000)),
            options: Vec::new(),
            rehearsal: None,
        }
        .into(),
        "yes" => {
            let scope = Some("once".into());
            ApprovalGranted { approval_id, call_digest, decider, channel, strong, scope }.into()
        }
        "no" => ApprovalDenied { approval_id, decider, channel, reason: None }.into(),
        "edit" => ApprovalReplaced::new(approval_id, decider, channel).into(),
        "late" => ApprovalExpired { approval_id, late_answer: false }.into(),
        _ => ApprovalUnreachable { approval_id, channel }.into(),
    };
    script.add(clause.session, Some(call), event);
    Some(())
}

fn run(script: &mut Script, clause: &Clause<'_>) -> Option<()> {
    let call = clause.word(1)?;
    let own = tool_of(script, clause, call);
    let tool = clause.options.get("tool").copied().unwrap_or(&own);
    let full = !clause.flag("bare");
    let event = ToolCallStarted {
        tool_id: full.then(|| tool_id(tool)),
        tool_version: full.then(|| chosen(clause, "version", ("version", tool))),
        attempt: dispatch_words::attempt(script, clause, call),
        args_digest: full.then(|| guard_words::args_digest(script, clause, call)),
        call_digest: full.then(|| chosen(clause, "digest", ("call", call))),
        effect_class: full.then(|| class(clause)),
        adapter: Some("builtin".into()),
        ..ToolCallStarted::new()
    };
    let event = dispatch_words::started(clause, event);
    script.add(clause.session, Some(call), event);
    Some(())
}

fn finish(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    let call = clause.word(1)?;
    let event: Event = match verb {
        "fail" => dispatch_words::failed(script, clause, call).into(),
        "fin" => {
            let (status, full) = (clause.word(2)?, !clause.flag("bare"));
            let unlogged = clause.flag("unlogged");
            let ok = status == "ok" && !clause.flag("fault");
            ToolCallFinished {
                status: if status == "ok" { "success" } else { status }.into(),
                artifact_id: None,
                result_digest: full.then(|| chosen(clause, "result", ("result", call))),
                result_chars: full.then(|| clause.number("chars").unwrap_or(20)),
                effects: None,
                fault: (!ok).then(|| if unlogged { quiet_fault() } else { fault() }),
                pending: None,
                unlogged,
                obtained: Vec::new(),
            }
            .into()
        }
        "chk" => {
            let undeclared = clause.options.get("undeclared").map(|found| (*found).into());
            let undeclared = undeclared.into_iter().collect();
            let status = dispatch_words::verified(clause);
            ToolResultValidated { undeclared, ..ToolResultValidated::new(status) }.into()
        }
        _ => {
            let last = script.state(clause.session).last.get(call).copied();
            ArtifactPersisted {
                artifact_id: format!("art{call}"),
                kind: "tool_output".into(),
                content_hash: digest("result", call),
                bytes: 900,
                tool_call_id: Some(call_id(clause.options.get("of").copied().unwrap_or(call))),
                event_id: if clause.flag("eventless") {
                    None
                } else {
                    clause.number("event").or(last)
                },
            }
            .into()
        }
    };
    script.add(clause.session, Some(call), event);
    Some(())
}

fn receipt(script: &mut Script, clause: &Clause<'_>) -> Option<()> {
    let call = clause.word(1)?;
    let tool = tool_of(script, clause, call);
    let mut facts = ReceiptIssued {
        receipt: String::new(),
        key_id: "k1".into(),
        tool_id: tool_id(&tool),
        tool_version: digest("version", &tool),
        args_digest: guard_words::args_digest(script, clause, call),
        result_digest: chosen(clause, "result", ("result", call)),
        issued_at: script.clock,
    };
    let turn = format!("t{}", script.state(clause.session).turn);
    let scope = Scope { session: clause.session, turn: &turn, call: &call_id(call) };
    let key = if clause.flag("forged") { Secret::new("another key") } else { key() };
    facts.receipt = compute(&key, scope, &facts);
    script.add(clause.session, Some(call), facts);
    Some(())
}

fn settle(script: &mut Script, clause: &Clause<'_>) -> Option<()> {
    let call = clause.word(1)?;
    let outcome = guard_words::detailed(script, clause, outcome(clause.word(2)?)?)?;
    let word = clause.options.get("text").copied().unwrap_or("is");
    // What several calls are told alike is said by `told`.
    let told = clause.options.get("told").map(|told| format!("what is told of {told}"));
    let shows = || format!("what {call} shows {word} here");
    let words = told.unwrap_or_else(shows);
    let (text, counted) = match clause.flag("gone") {
        true => (Blobs::name(&words), words.chars().count()),
        false => script.text(words),
    };
    let chars = clause.number("chars").unwrap_or(counted as u64);
    let shown = (text, usize::try_from(chars).unwrap_or(counted));
    script.state(clause.session).texts.insert(call.into(), shown);
    let full = !clause.flag("bare");
    let event = ToolCallSettled {
        outcome,
        shown: full.then_some(text),
        shown_chars: full.then_some(chars),
        cut: clause.flag("cut"),
    };
    script.add(clause.session, Some(call), event);
    Some(())
}
