//! What a run makes available: scope, groups, deferred tools and their search.

use std::collections::BTreeMap;
use std::sync::Arc;

use proofmark::base::digest::Digest;
use proofmark::eval::fixture::{self, Shared, SuiteShared};
use proofmark::eval::grade::{Verdict, grade};
use proofmark::eval::load::{Listed, load};
use proofmark::eval::trial::{self, TrialPlan};
use proofmark::journal::event::turn::WithheldTool;
use proofmark::journal::outcome::Unavailability;
use proofmark::law::Judge;
use proofmark::runtime::exec::search;
use proofmark::runtime::resolved::Resolved;
use proofmark::runtime::view::Blocks;
use proofmark::runtime::view::activation::search_tool;
use proofmark::runtime::view::availability::{Deferred, McpPolicy, RiskCap, TrustCaps};
use proofmark::runtime::view::compile::MAY_EXPOSE;
use proofmark::runtime::view::group::{Group, GroupMode, Keyword};
use proofmark::runtime::view::pattern::Pattern;
use proofmark::runtime::view::scope::Scoped;
use proofmark::runtime::view::{ActivatedSet, Availability, View, scoped};
use proofmark::tool::descriptor::{Descriptor, SourceType};
use proofmark::tool::effect::{ActionType, EffectClass};
use proofmark::tool::id::ToolId;
use proofmark::tool::risk::Level;

use crate::tools::{Scene, tool};

pub fn id(text: &str) -> ToolId {
    ToolId::parse(text).unwrap()
}

/// A tool of an MCP server.
pub fn mcp(id: &str, server: &str, level: &str) -> Descriptor {
    let source = format!("source: {{type: mcp, sourceId: 'mcp:{server}', serverId: {server}}}\n");
    tool(id, level, &source)
}

fn patterns(list: &[&str]) -> Vec<Pattern> {
    list.iter().map(|text| Pattern::new(text)).collect()
}

pub fn group(name: &str, tools: &[&str], keywords: &[&str]) -> Group {
    let mode = if keywords.is_empty() { GroupMode::Always } else { GroupMode::Dynamic };
    let keywords = keywords.iter().filter_map(|word| Keyword::parse(word)).collect();
    Group { name: name.to_owned(), mode, tools: patterns(tools), keywords }
}

/// Every tool of a view: where it is, and why.
pub fn lines(view: &View) -> Vec<String> {
    let exposed = view.exposed.iter().map(|tool| format!("+ {}: {}", tool.name, tool.reason));
    let line =
        |tool: &WithheldTool| format!("- {}: {}: {}", tool.tool_id, tool.filter, tool.reason);
    exposed.chain(view.withheld.iter().map(line)).collect()
}

/// Which tools are shown, and the filters of the others, by id.
pub fn places(view: &View) -> BTreeMap<String, String> {
    let exposed = view.exposed.iter().map(|tool| (tool.tool_id.to_string(), "shown".to_owned()));
    let withheld = view.withheld.iter().map(|tool| (tool.tool_id.to_string(), tool.filter.clone()));
    exposed.chain(withheld).collect()
}

#[test]
fn the_scope_keeps_tools_out_by_name_server_risk_and_run() {
    let git = || mcp("git.log", "git", "L0");
    let check = |tool: Descriptor, availability: Availability, expected: &str| {
        let id = tool.tool_id.clone();
        let mut scene = Scene::new(vec![tool]);
        scene.availability = availability;
        let view = scene.view();
        let found = lines(&view);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with(expected), "{found:?} {expected}");
        let scope = scoped(&scene.registry, &scene.availability, &scene.excluded);
        assert_eq!(scope.get(&id).is_some(), expected.starts_with('+'));
    };
    let policy = |policy| Availability { mcp: vec![policy], ..Availability::default() };
    let servers = |names: &[&str]| {
        let servers = Some(names.iter().map(|name| (*name).to_owned()).collect());
        policy(McpPolicy { servers, ..McpPolicy::default() })
    };
    check(git(), servers(&["git"]), "+ git_log");
    check(git(), servers(&["git_", "gi", "GIT", "*"]), "- git.log: mcp: MCP server git is not");
    check(git(), servers(&[]), "- git.log: mcp: MCP server git is not allowed");
    check(tool("git.log", "L0", ""), servers(&[]), "+ git_log");
    let tools =
        |list: &[&str]| policy(McpPolicy { tools: Some(patterns(list)), ..McpPolicy::default() });
    check(git(), tools(&["git.*"]), "+ git_log");
    check(git(), tools(&["git.l?g", "git.*g", "gits.*"]), "- git.log: mcp: the MCP policy does");
    let deny =
        McpPolicy { deny: patterns(&["git.log"]), tools: Some(patterns(&["*"])), servers: None };
    check(git(), policy(deny), "- git.log: mcp: the MCP policy denies it");
    let cap = |level, effect_class| Availability {
        risk_cap: RiskCap { level, effect_class, ..RiskCap::default() },
        ..Availability::default()
    };
    let write = || tool("t.x", "L2", "");
    check(write(), cap(Some(Level::L2), Some(EffectClass::Write)), "+ t_x");
    check(write(), cap(Some(Level::L1), None), "- t.x: risk: level L2 is above the cap L1");
    let class = "- t.x: risk: effect class write is above the cap read";
    check(write(), cap(None, Some(EffectClass::Read)), class);
    let trust = TrustCaps { untrusted: Some(Level::L1), ..TrustCaps::default() };
    let strangers = || Availability {
        risk_cap: RiskCap { trust, ..RiskCap::default() },
        ..Availability::default()
    };
    let of =
        |level, trust: &str| tool("t.x", level, &format!("provenance: {{trustLevel: {trust}}}"));
    check(of("L2", "third_party"), strangers(), "+ t_x");
    check(of("L1", "untrusted"), strangers(), "+ t_x");
    let capped = "- t.x: risk: level L2 is above the cap L1 of untrusted sources";
    check(of("L2", "untrusted"), strangers(), capped);
    let narrowed = |lists: &[&[&str]]| Availability {
        narrowing: lists.iter().map(|list| patterns(list)).collect(),
        ..Availability::default()
    };
    let plain = || tool("t.x", "L0", "");
    check(plain(), narrowed(&[]), "+ t_x");
    check(plain(), narrowed(&[&["t.x"], &["t.*", "u"]]), "+ t_x");
    for lists in [&[&[][..]][..], &[&["t.y", "t", "t.[x]", "T.X"]], &[&["*"], &["u.*"]]] {
        check(plain(), narrowed(lists), "- t.x: narrowed: this run is narrowed to other tools");
    }
}

#[test]
fn groups_show_by_message_and_grant_nothing() {
    let tools = || {
        let git = |id| mcp(id, "git", "L0");
        vec![git("git.log"), git("git.push"), git("git.tag"), mcp("ci.run", "ci", "L0"), {
            tool("git.local", "L0", "")
        }]
    };
    let groups = [
        group("history", &["git.log", "git.push", "git.local"], &["log", "who changed"]),
        group("release", &["git.push", "git.tag"], &["release"]),
        group("core", &["git.tag"], &[]),
    ];
    let check = |message: &str, expected: &[&str]| {
        let mut scene = Scene::new(tools());
        scene.availability.groups = groups.to_vec();
        message.clone_into(&mut scene.message);
        scene.excluded.insert(id("ci.run"));
        let names: Vec<String> =
            scene.view().leases.iter().map(|l| l.tool.id().to_string()).collect();
        assert_eq!(names, expected, "{message}");
    };
    check("hello", &["git.local", "git.tag"]);
    check("Who  changed it?", &["git.local", "git.log", "git.push", "git.tag"]);
    check("make a RELEASE", &["git.local", "git.push", "git.tag"]);
    check("catalog, released", &["git.local", "git.tag"]);
    let mut scene = Scene::new(tools());
    scene.availability.groups = groups.to_vec();
    let reason = "- git.push: group: the message names no keyword of its groups: history (log, who \
                  changed); release (release)";
    assert_eq!(lines(&scene.view())[4], reason);
    assert_eq!(scene.view().resolve("git_push").err(), Some(Unavailability::Withheld));
    scene.availability.groups = vec![group("all", &["*"], &["x"])];
    assert_eq!(scene.view().leases.len(), 1, "only MCP tools are members");
}

/// A mailbox behind a search, two groups, and tools that no search may reach.
fn mailbox() -> Scene {
    let mail = |id, level| mcp(id, "mail", level);
    let mut scene = Scene::new(vec![
        mail("mail.search", "L0"),
        mail("mail.send", "L4"),
        mail("mail.purge", "L5"),
        mail("mail.folders", "L0"),
        mail("mail.rules", "L0"),
        mcp("wiki.read", "wiki", "L0"),
        mcp("wiki.write", "wiki", "L4"),
        tool("file.read", "L0", ""),
        tool("file.write", "L2", ""),
        search_tool(),
    ]);
    scene.excluded.insert(id("wiki.write"));
    scene.availability = Availability {
        groups: vec![
            group("folders", &["mail.folders"], &[]),
            group("filing", &["mail.rules"], &["file away"]),
            group("knowledge", &["wiki.*"], &["wiki", "handbook"]),
        ],
        deferred: vec![Deferred::Source(SourceType::Mcp), Deferred::Tools(Pattern::new("file.w*"))],
        risk_cap: RiskCap { level: Some(Level::L4), ..RiskCap::default() },
        ..Availability::default()
    };
    scene
}

#[test]
fn a_view_with_groups_and_deferred_tools() {
    let mut scene = mailbox();
    scene.message = "What does the Handbook say?".to_owned();
    let before = scene.view();
    let index = search::SearchIndex::build(&scene.registry);
    let ran = search::run("select:mail.send,wiki_read", 5, &before.waiting, &index);
    let new = scene.activated.activate(&ran.activates, &before);
    assert_eq!(new, [id("mail.send"), id("wiki.read")]);
    let (before, after) = (lines(&before).join("\n"), lines(&scene.view()).join("\n"));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let text = format!("{before}\n\n{}\n\n{after}", ran.output);
    settings.bind(|| insta::assert_snapshot!("view_groups_deferred", text));
}

#[test]
fn a_deferred_tool_is_callable_from_the_request_after_its_search() {
    let mut scene = mailbox();
    let view = scene.view();
    let gone = "there is no tool `mail_send` in this request";
    assert_eq!(view.resolve("mail_send").err(), Some(Unavailability::Withheld));
    assert_eq!(view.refusal("mail_send", &scene.activated), gone);
    assert!(view.waits("mail_send").is_some() && view.waits("mail.send").is_some());
    for hidden in ["wiki_write", "mail_purge", "mail_rules", "file_read", "nothing"] {
        assert!(view.waits(hidden).is_none(), "{hidden}");
    }
    let found = ["wiki.write", "mail.purge", "mail.rules", "file.read", "no.such", "mail.send"];
    let new = scene.activated.activate(&found.map(id), &view);
    assert_eq!(new, [id("mail.send")], "nothing excluded, capped, hidden or unknown");
    let again = "`mail_send` can be called only since this reply; call it again";
    assert_eq!(view.refusal("mail_send", &scene.activated), again);
    assert!(view.resolve("mail_send").is_err(), "the old view does not change");
    assert!(scene.view().resolve("mail_send").is_ok());
    assert_eq!(scene.activated.activate(&[id("mail.send")], &view), []);
    // Order of the searches, those of one search by id.
    let view = scene.view();
    scene.activated.activate(&["mail.search", "file.write"].map(id), &view);
    let order: Vec<&str> = scene.activated.iter().map(ToolId::as_str).collect();
    assert_eq!(order, ["mail.send", "file.write", "mail.search"]);
}

#[test]
fn the_search_is_shown_while_a_tool_waits() {
    let place = |change: fn(&mut Scene)| {
        let mut scene = mailbox();
        change(&mut scene);
        places(&scene.view())["tool_search"].clone()
    };
    assert_eq!(place(|_| ()), "shown");
    assert_eq!(place(|scene| scene.availability.deferred.clear()), "deferred");
    let narrow =
        |list| move |scene: &mut Scene| scene.availability.narrowing = vec![patterns(list)];
    let mut scene = mailbox();
    narrow(&["mail.*"])(&mut scene);
    assert_eq!(places(&scene.view())["tool_search"], "shown", "it stands for narrowed tools");
    narrow(&["file.read"])(&mut scene);
    assert_eq!(places(&scene.view())["tool_search"], "narrowed");
    narrow(&["file.read", "tool_search"])(&mut scene);
    assert_eq!(places(&scene.view())["tool_search"], "deferred");
    narrow(&[])(&mut scene);
    assert_eq!(scene.view().leases.len(), 0, "an empty list allows nothing");
    assert_eq!(place(|scene| scene.excluded = [id("tool_search")].into()), "excluded");
    assert_eq!(place(|scene| scene.environment.max_tools = 1), "shown");
    assert_eq!(place(|scene| scene.environment.max_tools = 0), "budget");
    let delete = |scene: &mut Scene| scene.intent.action_types = vec![ActionType::ExternalSend];
    assert_eq!(place(delete), "shown", "it serves what the tools that wait serve");
    let read = |scene: &mut Scene| scene.intent.action_types = vec![ActionType::Delete];
    assert_eq!(place(read), "deferred", "no tool that could serve waits");
}

#[test]
fn a_delegate_has_what_it_was_granted_and_never_more() {
    let mut scene = mailbox();
    let view = scene.view();
    scene.activated.activate(&["mail.send", "mail.search"].map(id), &view);
    let check = |allowed: &[&str], tools: &[&str], activated: &[&str]| {
        let allowed: Vec<String> = allowed.iter().map(|text| (*text).to_owned()).collect();
        let child = scene.availability.delegated(&allowed, false);
        let scope = scoped(&scene.registry, &child, &scene.excluded);
        let ids =
            |scope: &Scoped<'_>| scope.tools().map(|t| t.id().to_string()).collect::<Vec<_>>();
        assert_eq!(ids(&scope), tools);
        let granted = scene.activated.within(&scope);
        assert_eq!(granted.iter().map(ToolId::as_str).collect::<Vec<_>>(), activated);
    };
    check(
        &["mail.*"],
        &["mail.folders", "mail.rules", "mail.search", "mail.send", "tool_search"],
        &["mail.search", "mail.send"],
    );
    check(&["file.read", "mail.purge", "wiki.write", "mail.s[end]"], &["file.read"], &[]);
    check(&[], &[], &[]);
}

const SUITE: &str = "\
schema: proofmark/suite@1
name: small
tools: [tools/]
narrowing: [mail.*, file.read]
tool_filter_groups:
  - {name: post, mode: dynamic, tools: [mail.send], keywords: [write to]}
providers: [scripted]
cases: [cases.yaml]
";
const CASES: &str = "\
schema: proofmark/cases@1
cases:
  - id: named
    prompt: Please WRITE to Ann.
    script:
      - expect_request:
          {tools: [mail.send, mail.find, file.read], no_tools: [tool_search, disk.wipe]}
        reply: {calls: [{name: mail.send, arguments: {}}, {name: disk.wipe, arguments: {}}]}
      - reply: {text: Done.}
    approvals: [{tool: mail.send, answer: approve}]
    expect:
      calls: [{tool: mail.send}, {tool: disk.wipe, outcome: unavailable}]
      mode: any_order
  - id: not-named
    prompt: Hello.
    script:
      - expect_request: {tools: [mail.find], no_tools: [mail.send]}
        reply: {calls: [{name: mail.send, arguments: {}}]}
      - expect_request: {contains: ['there is no tool `mail_send` in this request']}
        reply: {text: Hm.}
    expect: {calls: [{tool: mail.send, outcome: unavailable}]}
  - id: waits
    prompt: Hello.
    deferred: [{source: mcp}]
    tool_filter_groups: []
    narrowing: [mail.*, disk.*]
    script:
      - expect_request:
          {tools: [tool_search], no_tools: [mail.find, mail.send, file.read, disk.wipe]}
        reply: {calls: [{name: mail.find, arguments: {}}]}
      - expect_request: {contains: ['there is no tool `mail_find` in this request']}
        reply: {text: Hm.}
    expect: {calls: [{tool: mail.find, outcome: unavailable}]}
";

#[test]
fn suites_and_cases_say_what_is_available() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("tools")).unwrap();
    let tools = [
        mcp("mail.send", "mail", "L4"),
        mcp("mail.find", "mail", "L0"),
        tool("file.read", "L0", ""),
        tool("disk.wipe", "L0", ""),
    ];
    for tool in tools {
        let path = folder.path().join("tools").join(format!("{}.yaml", tool.tool_id));
        std::fs::write(path, serde_json::to_string(&tool).unwrap()).unwrap();
    }
    std::fs::write(folder.path().join("suite.yaml"), SUITE).unwrap();
    std::fs::write(folder.path().join("cases.yaml"), CASES).unwrap();
    let suite = load(folder.path(), &Listed::new()).unwrap_or_else(|found| panic!("{found:?}"));
    assert_eq!(suite.registry.len(), 5, "a case that defers brings the search");
    let (shared, own) = (Shared::default(), SuiteShared::new(&suite));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for case in &suite.cases {
        let case = Arc::clone(case);
        let plan = TrialPlan { case: Arc::clone(&case), provider: "scripted".into(), number: 0 };
        let record = runtime.block_on(trial::run(&suite, &plan, (&shared, &own)));
        let journal = &record.journal;
        let findings = Judge::new(None).journal(journal.entries(), journal.blobs());
        let grade = grade(&suite, &case, &record, &findings);
        assert_eq!(grade.verdict, Verdict::Pass, "{}: {:?}", case.id, grade.complaints);
    }
    let resolved = |case: usize| {
        let (case, id) = (&suite.cases[case], ("s".into(), Digest::of("seed", b"")));
        fixture::build(&suite, case, "scripted", id, (&shared, &own)).0.resolved
    };
    let view = |resolved: &Resolved, message: &str, activated: &ActivatedSet| {
        let (failures, blocks) = (BTreeMap::new(), Blocks::default());
        resolved.view((&failures, activated, &blocks), message, MAY_EXPOSE)
    };
    let (one, two, none) = (resolved(0), resolved(1), ActivatedSet::default());
    let hello = view(&one, "Hello.", &none);
    assert!(Arc::ptr_eq(&hello, &view(&two, "Something else", &none)), "compiled once");
    assert!(!Arc::ptr_eq(&hello, &view(&one, "write to Ann", &none)));
    let third = resolved(2);
    let waits = view(&third, "Hello.", &none);
    let mut activated = ActivatedSet::default();
    activated.activate(&[id("mail.find")], &waits.view);
    let found = view(&third, "Hello.", &activated);
    assert!(!Arc::ptr_eq(&waits, &found) && found.view.resolve("mail_find").is_ok());
    assert!(third.scoped().get(&id("disk.wipe")).is_none(), "a case narrows its suite");
}
