use super::super::standing::Asks;
use super::*;
use crate::tool::descriptor::TrustLevel;
use crate::tool::manifest;
use crate::tool::risk::Level;

const TOOL: &str = "\
schema: proofmark/tool@1
toolId: shelf.lend
description: {summary: Lend a novel.}
intent: {actionTypes: [memory_write]}
schemas: {inputSchema: {type: object}}
effects: {reads: [], writes: ['memory:loans']}
";
const FOREIGN: &str = "provenance: {trustLevel: third_party}\n";

/// What a registry is asked, in words, and what becomes of it.
struct Scene {
    book: Book,
    facts: Vec<&'static str>,
    descriptor: Descriptor,
}

/// Added where nobody's signature is known.
fn add(book: &Book, candidate: &Candidate) -> Facts {
    super::add(book, candidate, &Keys::default())
}

fn candidate(text: &str) -> Candidate {
    let descriptor = manifest::parse("t.yaml", text).unwrap();
    let manifest = Digest::of("manifest", text.as_bytes());
    Candidate { descriptor, manifest, unusable: None }
}

impl Scene {
    fn new() -> Self {
        Self { book: Book::default(), facts: Vec::new(), descriptor: candidate(TOOL).descriptor }
    }

    fn with(asked: &str) -> Self {
        let mut scene = Self::new();
        for one in asked.split("; ").filter(|one| !one.is_empty()) {
            scene.ask(one).unwrap_or_else(|refusal| panic!("{one}: {refusal}"));
        }
        scene
    }

    fn answer(&mut self, asked: &str) -> Facts {
        let words: Vec<&str> = asked.split(' ').collect();
        let id = self.descriptor.tool_id.clone();
        let book = &self.book;
        match words.as_slice() {
            ["add"] => add(book, &candidate(TOOL)),
            ["add", "changed"] => add(book, &candidate(&TOOL.replace("novel", "book"))),
            ["add", "foreign"] => add(book, &candidate(&format!("{TOOL}{FOREIGN}"))),
            ["add", "unlinted"] => add(book, &candidate(&TOOL.replace("'memory:loans'", ""))),
            ["add", "unusable"] => {
                let unusable = Some("no schema".to_owned());
                add(book, &Candidate { unusable, ..candidate(TOOL) })
            }
            ["review", by] => review(book, &id, by, true),
            ["reject", by] => review(book, &id, by, false),
            ["ill"] => health(book, &id, &Err("no such program".into())),
            ["well"] => health(book, &id, &Ok(())),
            ["enable", scope, passed, judged] => {
                let (judged, passed) = (judged.parse().unwrap(), passed.parse().unwrap());
                let evidence = Digest::of("golden", b"w");
                enable(book, &id, scope, &Basis::Golden { evidence, judged, passed })
            }
            ["enable", scope] => enable(book, &id, scope, &Basis::Without("to measure it".into())),
            ["disable"] => disable(book, &id, None, None),
            ["disable", scope] => disable(book, &id, Some(scope), Some("Ada")),
            ["block", why] => block(book, &id, why, Some("Ada")),
            ["deprecate"] => deprecate(book, &id, None, None),
            ["deprecate", other] => deprecate(book, &id, ToolId::parse(other).as_ref(), None),
            ["grant", to, scope] => grant(book, &self.descriptor, (to, None), scope, Some(50)),
            ["grant", to, scope, tenant] => {
                grant(book, &self.descriptor, (to, Some(tenant)), scope, Some(50))
            }
            ["revoke", grant] => revoke(book, grant, "Ada"),
            other => panic!("{other:?}"),
        }
    }

    fn ask(&mut self, asked: &str) -> Result<(), Refusal> {
        self.facts.clear();
        for fact in self.answer(asked)? {
            self.book.take(7, &fact).unwrap_or_else(|bad| panic!("{asked}: {bad}"));
            self.facts.push(fact.name());
        }
        Ok(())
    }

    fn state(&self) -> State {
        self.book.get(&self.descriptor.tool_id).map(Standing::state).unwrap()
    }
}

fn check(asked: &str, facts: &[&str], state: State) {
    let scene = Scene::with(asked);
    assert_eq!((scene.facts.as_slice(), scene.state()), (facts, state), "{asked}");
}

fn check_refused(asked: &str, last: &str, expected: &str) {
    let mut scene = Scene::with(asked);
    let before = scene.book.clone();
    let refusal = scene.ask(last).unwrap_err().to_string();
    assert!(refusal.contains(expected), "{asked}; {last}: {refusal}");
    assert_eq!(scene.book, before, "a refusal changes nothing");
}

const SEEN: [&str; 3] = ["ToolDiscovered", "ToolParsed", "ToolNormalized"];

#[test]
fn from_discovered_to_granted_each_step_is_a_fact() {
    check("add", &[SEEN[0], SEEN[1], SEEN[2], "ToolVerified"], State::Verified);
    check("add; enable evaluation", &["ToolEnabled"], State::Enabled);
    check("add; enable live 4 4", &["ToolEnabled"], State::Enabled);
    check("add; enable live 4 5; grant Ada live", &["GrantIssued"], State::Granted);
    check(
        "add; enable live 4 4; grant Ada live; revoke grant-1",
        &["GrantRevoked"],
        State::Enabled,
    );
    check(
        "add; enable live 4 4; enable evaluation; disable live",
        &["ToolDisabled"],
        State::Enabled,
    );
    check(
        "add; enable live 4 4; enable evaluation; disable",
        &["ToolDisabled", "ToolDisabled"],
        State::Verified,
    );
    check("add; deprecate", &["ToolDeprecated"], State::Deprecated);
}

#[test]
fn what_fails_stands_in_a_state_of_its_own() {
    check("add unusable", &[SEEN[0], SEEN[1], "ToolBlocked"], State::InvalidSchema);
    let held = [SEEN[0], SEEN[1], SEEN[2], "ToolBlocked"];
    check("add unlinted", &held, State::PermissionLintFailed);
    check("add foreign", &held, State::SecurityReviewRequired);
    check("add; ill", &["ToolBlocked"], State::HealthCheckFailed);
    check("add; enable live 4 4; ill", &["ToolDisabled", "ToolBlocked"], State::HealthCheckFailed);
    check("add; ill; well", &["ToolVerified"], State::Verified);
    check("add; block unwanted", &["ToolBlocked"], State::Blocked);
    // A reason that sounds like a check's is a person's all the same.
    check("add; block invalid_schema:", &["ToolBlocked"], State::Blocked);
}

#[test]
fn a_foreign_tool_waits_for_a_named_reviewer() {
    let both = ["ToolReviewed", "ToolVerified"];
    check("add foreign; review Ada", &both, State::Verified);
    check("add foreign; reject Ada", &["ToolReviewed"], State::SecurityReviewRequired);
    check("add foreign; reject Ada; review Ben", &both, State::Verified);
    check_refused("add foreign", "review ", "the reviewer's name is empty");
    check_refused("add foreign", "enable evaluation", "security_review_required");
    // Whoever said yes may take it back, and everything that rested on it ends.
    let withdrawn = ["GrantRevoked", "ToolDisabled", "ToolReviewed"];
    let asked = "add; enable live 4 4; grant Ada live; reject Ben";
    check(asked, &withdrawn, State::SecurityReviewRequired);
}

#[test]
fn a_changed_definition_is_judged_again() {
    check("add; add", &[], State::Verified);
    check("add; enable live 4 4; add", &[], State::Enabled);
    let again = [
        "GrantRevoked",
        "ToolDisabled",
        "ToolDiscovered",
        "ToolParsed",
        "ToolNormalized",
        "ToolVerified",
    ];
    check("add; enable live 4 4; grant Ada live; add changed", &again, State::Verified);
    let scene = Scene::with("add; add changed; add");
    let own = scene.book.get(&scene.descriptor.tool_id).unwrap();
    assert_eq!((own.versions.len(), own.version), (2, own.versions.first().copied()));
    // A review is for what was looked at.
    check(
        "add foreign; review Ada; add; add foreign",
        &[SEEN[0], SEEN[1], SEEN[2], "ToolBlocked"],
        State::SecurityReviewRequired,
    );
    check(
        "add; deprecate; add changed",
        &[SEEN[0], SEEN[1], SEEN[2], "ToolVerified"],
        State::Verified,
    );
}

#[test]
fn enabling_needs_golden_evidence_for_the_version() {
    check_refused("add", "enable live", "no golden evidence, and `live` is no evaluation");
    check_refused("add", "enable live 3 3", "judged by 3 golden prompts, and needs 4");
    check_refused("add", "enable live 3 4", "passed 3 of 4");
    check_refused("add", "enable live 18446744073709551615 3", "judged by 3");
    check_refused(
        "add unlinted",
        "enable live 4 4",
        "cannot be enabled: only what is verified is (",
    );
    check("add; enable live 8 10", &["ToolEnabled"], State::Enabled);
    check("add; enable live 8 10; enable live 8 10", &[], State::Enabled);
}

#[test]
fn refusals_say_what_is_missing() {
    for (asked, last, expected) in [
        ("", "review Ada", "there is no tool `shelf.lend`"),
        ("add", "grant Ada live", "only what is enabled is"),
        ("add; enable live 4 4", "grant Ada evaluation", "is not enabled in `evaluation`"),
        ("add; enable live 4 4", "grant  live", "the principal's name is empty"),
        ("add; enable live 4 4", "revoke grant-1", "there is no grant `grant-1` in force"),
        ("add", "disable", "it is enabled nowhere"),
        ("add", "disable live", "is not enabled in `live`"),
        ("add", "block ", "the reason is empty"),
        ("add", "deprecate shelf.lend", "its own successor"),
        ("add", "deprecate no.such", "there is no tool `no.such`"),
        ("add unusable", "enable evaluation", "invalid_schema"),
        ("add unusable", "review Ada", "it has no version that could be judged (no schema)"),
        ("add; block x", "add changed", "a block is final"),
        ("add; block x", "add", "a block is final"),
        ("add; deprecate", "enable evaluation", "only what is verified is"),
    ] {
        check_refused(asked, last, expected);
    }
}

/// Authority ends with the grant, with the scope and with the version.
#[test]
fn callable_for_whom_where_and_when() {
    let asks = |scope, principal, now, level| {
        let trust = TrustLevel::Workspace;
        Asks { scope, principal, tenant: None, now, level, trust }
    };
    let foreign = |asks| Asks { trust: TrustLevel::Untrusted, ..asks };
    let acting = |asks| Asks { tenant: Some("acme"), ..asks };
    let granted = "add; enable live 4 4; grant Ada live";
    let of_acme = "add; enable live 4 4; grant Ada live acme";
    for (asked, asks, expected) in [
        (granted, asks("live", "Ada", 50, Level::L4), State::Callable),
        (granted, asks("live", "Ada", 51, Level::L4), State::Granted),
        (granted, asks("live", "Ben", 7, Level::L4), State::Granted),
        (granted, acting(asks("live", "Ada", 7, Level::L4)), State::Granted),
        (of_acme, acting(asks("live", "Ada", 7, Level::L4)), State::Callable),
        (of_acme, asks("live", "Ada", 7, Level::L4), State::Granted),
        (granted, asks("evaluation", "Ada", 7, Level::L4), State::Verified),
        ("add; enable live 4 4", asks("live", "Ada", 7, Level::L2), State::Enabled),
        ("add; enable live 4 4", asks("live", "Ada", 7, Level::L1), State::Callable),
        // What runs by itself is what a tool says of itself: nothing, where nobody trusts it.
        ("add; enable live 4 4", foreign(asks("live", "Ada", 7, Level::L0)), State::Enabled),
        (granted, foreign(asks("live", "Ada", 7, Level::L0)), State::Callable),
        ("add", asks("live", "Ada", 7, Level::L0), State::Verified),
        ("add; block x", asks("live", "Ada", 7, Level::L0), State::Blocked),
    ] {
        let scene = Scene::with(asked);
        let own = scene.book.get(&scene.descriptor.tool_id).unwrap();
        assert_eq!(own.state_for(&asks), expected, "{asked}: {asks:?}");
    }
}

/// Whoever states what a definition is has said what was looked at; another one is refused.
#[test]
fn a_stated_manifest_hash_is_held_against_the_content() {
    let mut candidate = candidate(TOOL);
    let found = candidate.descriptor.content_digest();
    candidate.descriptor.provenance.manifest_hash = Some(found);
    assert_eq!(add(&Book::default(), &candidate).unwrap().len(), 4);
    candidate.descriptor.description.summary.push('!');
    let refusal = add(&Book::default(), &candidate).unwrap_err().to_string();
    let now = candidate.descriptor.content_digest();
    assert_ne!(found, now);
    assert_eq!(
        refusal,
        format!("`shelf.lend` states the manifest hash {found}, and its content is {now}")
    );
}

/// A name is kept where one is given, and what a check or a change ends has the registry's.
#[test]
fn who_did_it_is_kept() {
    for (asked, expected) in [
        ("add", None),
        ("add; block unwanted", Some("Ada")),
        ("add; enable live 4 4; disable live", Some("Ada")),
        ("add; enable live 4 4; disable live; enable live 4 4", None),
        ("add; enable live 4 4; disable", None),
        ("add; enable live 4 4; deprecate", None),
        ("add; enable live 4 4; ill; well", None),
        ("add; enable live 4 4; reject Ben", Some("registry: its review was withdrawn")),
    ] {
        let scene = Scene::with(asked);
        let own = scene.book.get(&scene.descriptor.tool_id).unwrap();
        assert_eq!(own.by.as_deref(), expected, "{asked}");
    }
}
