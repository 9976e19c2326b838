use super::*;
use crate::eval::suite::{SUITE, SuiteFile};
use crate::tool::manifest;

fn tool(id: &str, source: &str) -> Descriptor {
    let text = format!(
        "schema: proofmark/tool@1\ntoolId: {id}\ndescription: {{summary: Does {id}.}}\n\
         intent: {{actionTypes: [read]}}\nschemas: {{inputSchema: {{type: object}}}}\n\
         effects: {{reads: [], writes: []}}\n{source}"
    );
    manifest::parse("t.yaml", &text).unwrap()
}

fn registry() -> Registry {
    let mcp = "source: {type: mcp, sourceId: 'mcp:git', serverId: git}\n";
    let mut tools = vec![tool("git.log", mcp), tool("git.push", mcp), tool("file.read", "")];
    assert_eq!(add_search(&mut tools), None);
    Registry::new(tools).unwrap()
}

fn read_suite(lines: &str) -> Result<Availability, Vec<String>> {
    let text = format!("schema: proofmark/suite@1\nname: s\ntools: [t]\n{lines}");
    let document = Document::parse("s", &text).unwrap();
    let shown = |problems: Vec<Problem>| problems.iter().map(ToString::to_string).collect();
    let file: SuiteFile = SUITE.get().decode(&document).map_err(shown)?;
    let mut problems = Vec::new();
    let place = Place { document: &document, at: "", registry: &registry() };
    let read = read(&keys!(file), &Availability::default(), &place, &mut problems);
    if problems.is_empty() { Ok(read) } else { Err(shown(problems)) }
}

fn check(lines: &str, expected: &[&str]) {
    assert_eq!(read_suite(lines).unwrap_err(), expected, "{lines}");
}

#[test]
fn mistakes_are_named_with_their_place() {
    check("narrowing: [git.lgo]", &["s:4:13: no tool `git.lgo`; did you mean `git.log`?"]);
    let ids = "known here: file.read, git.log, git.push, tool_search";
    check("narrowing: ['gti*']", &[&format!("s:4:13: no tool begins with `gti`; {ids}")]);
    let help = "write an id, or the beginning of ids with one `*` at its end";
    for wrong in ["git.l*g", "git.?og", "git.[l]og", "**", "git log", ""] {
        let message = format!("s:4:13: `{wrong}` can name no tool; {help}");
        check(&format!("narrowing: ['{wrong}']"), &[&message]);
    }
    check(
        "deferred: [tool_search]",
        &["s:4:12: `tool_search` names no MCP tool; known here: file.read, git.log, git.push"],
    );
    check("deferred: [{source: http}]", &["s:4:12: no tool comes from such a source"]);
    check(
        "mcp_policy: {servers: [gti, git], tools: [file.read], deny: [git.psuh]}",
        &[
            "s:4:24: no tool comes from an MCP server `gti`; known here: git",
            "s:4:43: `file.read` names no MCP tool; known here: git.log, git.push",
            "s:4:62: no tool `git.psuh`; did you mean `git.push`?",
        ],
    );
    check(
        "tool_filter_groups:\n  - {name: a, mode: dynamic, tools: [git.*]}\n  \
         - {name: a, mode: always, tools: [file.*], keywords: [' ', x]}",
        &[
            "s:5:5: a dynamic group without keywords never shows its tools",
            "s:6:12: a second group `a`",
            "s:6:56: a group that is always shown has no keywords",
            "s:6:37: `file.*` names no MCP tool; known here: git.log, git.push",
            "s:6:57: the keyword is blank",
        ],
    );
}

#[test]
fn shapes_are_strict_and_blank_is_no_permission() {
    for (lines, expected) in [
        ("narrowing:", "s:4:10: null is not of type \"array\""),
        ("mcp_policy:", "s:4:11: null is not of type \"object\""),
        ("risk_cap:", "s:4:9: null is not of type \"object\""),
        ("risk_cap: {}", "s:4:11: a mapping has less than 1 property"),
        ("risk_cap: {levle: L2}", "s:4:12: unknown key `levle`; did you mean `level`?"),
        ("risk_cap: {effect_class: wirte}", ""),
        ("tool_filter_groups: [{name: a, mode: on, tools: [git.*]}]", ""),
        ("tool_filter_groups: [{name: a, mode: always, tools: []}]", ""),
        ("deferred: [{sorce: mcp}]", ""),
    ] {
        let found = read_suite(lines).unwrap_err();
        assert!(found[0].starts_with(expected) && found[0].starts_with("s:4:"), "{found:?}");
    }
}

#[test]
fn the_search_is_added_once_and_takes_no_other_tools_id() {
    let count = |mut tools: Vec<Descriptor>| (add_search(&mut tools), tools.len());
    assert_eq!(count(Vec::new()), (None, 0));
    assert_eq!(count(vec![tool("a", "")]), (None, 2));
    let own = "execution: {adapter: 'builtin:tool_search'}\n";
    assert_eq!(count(vec![tool("find.tools", own)]), (None, 1));
    let (problem, tools) = count(vec![tool("tool_search", "")]);
    assert!(problem.is_some_and(|text| text.starts_with("`tool_search` is the id")) && tools == 1);
}

#[test]
fn what_is_written_is_what_is_read() {
    let read = read_suite(
        "tool_filter_groups:\n  - {name: history, mode: dynamic, tools: ['git.*'], keywords: [Log]}\n\
         deferred: [git.push, {source: mcp}]\nnarrowing: []\nrisk_cap: {level: L2}\n\
         mcp_policy: {servers: [git], deny: [git.push]}",
    );
    let expected = Availability {
        groups: vec![Group {
            name: "history".to_owned(),
            mode: GroupMode::Dynamic,
            tools: vec![Pattern::new("git.*")],
            keywords: Keyword::parse("Log").into_iter().collect(),
        }],
        deferred: vec![
            Deferred::Tools(Pattern::new("git.push")),
            Deferred::Source(SourceType::Mcp),
        ],
        narrowing: vec![Vec::new()],
        mcp: vec![McpPolicy {
            servers: Some(BTreeSet::from(["git".to_owned()])),
            tools: None,
            deny: vec![Pattern::new("git.push")],
        }],
        risk_cap: RiskCap { level: Some(Level::L2), ..RiskCap::default() },
    };
    assert_eq!(read, Ok(expected));
    assert_eq!(read_suite(""), Ok(Availability::default()));
}

#[test]
fn a_case_is_never_looser_than_its_suite() {
    let suite = read_suite(
        "narrowing: ['git.*']\ndeferred: ['git.*']\nrisk_cap: {level: L2, effect_class: read}\n\
         mcp_policy: {deny: [git.push]}",
    )
    .unwrap();
    let text = "{narrowing: ['*'], deferred: [], risk_cap: {level: L5}, mcp_policy: {}}";
    let document = Document::parse("c", text).unwrap();
    let narrowing = vec!["*".to_owned()];
    let keys = Keys {
        groups: None,
        deferred: Some(&Vec::new()),
        narrowing: Some(&narrowing),
        mcp_policy: Some(&McpPolicyEntry { servers: None, tools: None, deny: Vec::new() }),
        risk_cap: Some(RiskCapEntry { level: Some(Level::L5), effect_class: None, trust: None }),
    };
    let place = Place { document: &document, at: "", registry: &registry() };
    let mut problems = Vec::new();
    let case = read(&keys, &suite, &place, &mut problems);
    assert_eq!((problems.len(), case.deferred.len()), (0, 0), "what arranges is replaced");
    assert_eq!((case.risk_cap, case.narrowing.len(), case.mcp.len()), (suite.risk_cap, 2, 2));
    assert_eq!((&case.narrowing[0], &case.mcp[0]), (&suite.narrowing[0], &suite.mcp[0]));
}
