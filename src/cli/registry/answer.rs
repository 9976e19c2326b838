//! What became of a command, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::try_out::Tried;
use crate::base::world::wall_clock;
use crate::cli::Format;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::journal::Event;
use crate::report::json::envelope;
use crate::report::table::{Look, draw};
use crate::runtime::catalog::desk::{EVALUATION, Refusal};
use crate::runtime::catalog::lifecycle::State;
use crate::runtime::catalog::source::{ImportProblem, Severity};
use crate::runtime::catalog::standing::{Asks, Standing};
use crate::runtime::catalog::store::{Store, described};
use crate::tool::descriptor::Descriptor;
use crate::tool::id::ToolId;
use crate::tool::risk;

/// Where an answer goes, and what was collected for it on the way.
pub(super) struct Answer<'o> {
    format: Format,
    output: &'o mut Output,
    notes: Vec<String>,
    tried: Vec<Tried>,
}

/// What became of each definition.
pub(super) struct Added {
    noticed: Vec<ImportProblem>,
    tools: Vec<(ToolId, bool)>,
    refused: Vec<(ToolId, String)>,
}

impl Added {
    /// Nothing yet but what was noticed on the way in.
    pub(super) fn new(noticed: Vec<ImportProblem>) -> Self {
        Self { noticed, tools: Vec::new(), refused: Vec::new() }
    }

    /// One that was taken; whether anything about it is new.
    pub(super) fn tool(&mut self, id: &ToolId, new: bool) {
        self.tools.push((id.clone(), new));
    }

    /// One that was not.
    pub(super) fn refused(&mut self, id: &ToolId, refusal: &Refusal) {
        self.refused.push((id.clone(), refusal.to_string()));
    }
}

impl<'o> Answer<'o> {
    /// An answer in a format.
    pub(super) fn new(format: Format, output: &'o mut Output) -> Self {
        Self { format, output, notes: Vec::new(), tried: Vec::new() }
    }

    /// What was noticed while the registry was read.
    pub(super) fn notes(&mut self, notes: &[String]) {
        for note in notes {
            self.output.error(&format!("note: {note}"));
        }
        self.notes.extend_from_slice(notes);
    }

    /// Keeps what was tried for the answer; the first thing that failed is the result.
    pub(super) fn tried(&mut self, tried: Vec<Tried>) -> Result<(), String> {
        let failed = tried.iter().find_map(|one| match &one.found {
            Some(Err(why)) => Some(format!("{}: {why}", one.what)),
            Some(Ok(_)) | None => None,
        });
        self.tried = tried;
        failed.map_or(Ok(()), Err)
    }

    fn envelope(&self, verdict: &str, exit: Exit) -> Map<String, Value> {
        let mut answer = envelope(None, verdict, exit.code());
        answer.insert("notes".into(), json!(self.notes));
        answer
    }

    /// Facts were recorded, or none had to be.
    pub(super) fn done(&mut self, store: &Store, tool: &ToolId, facts: &[Event]) {
        let Some(standing) = store.book.get(tool) else { return };
        if self.format == Format::Json {
            let mut answer = self.envelope("pass", Exit::Pass);
            answer.insert("tool".into(), standing_json(tool, standing));
            answer.insert("recorded".into(), json!(facts));
            if !self.tried.is_empty() {
                answer.insert("tried".into(), self.tried.iter().map(tried_json).collect());
            }
            self.output.json(&Value::Object(answer));
            return;
        }
        let mut text = String::new();
        for one in &self.tried {
            let _ = match &one.found {
                Some(Ok(found)) => writeln!(text, "{}: {found}", one.what),
                Some(Err(why)) => writeln!(text, "{}: failed: {why}", one.what),
                None => writeln!(text, "{}: not tried: {}", one.what, one.left_out),
            };
        }
        let names: Vec<&str> = facts.iter().map(Event::name).collect();
        let recorded = if names.is_empty() { "nothing new".to_owned() } else { names.join(", ") };
        let _ = writeln!(text, "{tool}: {} ({recorded})", standing.state());
        let _ = write!(text, "next: {}", next(tool, standing));
        self.output.text(&text);
    }

    /// What concerns no registry, in words or under these keys.
    pub(super) fn said(
        &mut self,
        text: &str,
        keys: impl IntoIterator<Item = (&'static str, Value)>,
    ) {
        match self.format {
            Format::Human => self.output.text(text),
            Format::Json => {
                let mut answer = self.envelope("pass", Exit::Pass);
                answer.extend(keys.into_iter().map(|(key, value)| (key.to_owned(), value)));
                self.output.json(&Value::Object(answer));
            }
        }
    }

    /// Nothing was recorded, and why.
    pub(super) fn refused(&mut self, store: &Store, refusal: &Refusal) -> Exit {
        let exit = match refusal {
            Refusal::Unknown(_)
            | Refusal::Blank(_)
            | Refusal::NoGrant(_)
            | Refusal::OwnSuccessor(_) => Exit::Usage,
            Refusal::Order { .. }
            | Refusal::Manifest { .. }
            | Refusal::Signature { .. }
            | Refusal::NoEvidence { .. }
            | Refusal::TooFew { .. }
            | Refusal::TooWeak { .. }
            | Refusal::NotEnabled { .. } => Exit::Fail,
        };
        self.fail(exit, &refusal.to_string(), &help(store, refusal))
    }

    /// The evidence belongs to another version.
    pub(super) fn stale(&mut self, message: &str) -> Exit {
        self.fail(Exit::Stale, message, "run the suite again on the version that is registered")
    }

    fn fail(&mut self, exit: Exit, message: &str, help: &str) -> Exit {
        self.output.error(&format!("error: {message}\nhelp: {help}"));
        if self.format == Format::Json {
            let mut answer = self.envelope("fail", exit);
            answer.insert("error".into(), message.into());
            answer.insert("help".into(), help.into());
            self.output.json(&Value::Object(answer));
        }
        exit
    }

    /// Definitions were taken; those that were refused were not.
    pub(super) fn added(&mut self, store: &Store, added: &Added, facts: usize) -> Exit {
        let exit = if added.refused.is_empty() { Exit::Pass } else { Exit::Fail };
        let mut states: BTreeMap<State, u64> = BTreeMap::new();
        let standing = |id: &ToolId| store.book.get(id);
        for one in added.tools.iter().filter_map(|(id, _)| standing(id)) {
            *states.entry(one.state()).or_default() += 1;
        }
        let new = added.tools.iter().filter(|(_, new)| *new).count();
        if self.format == Format::Json {
            let verdict = if exit == Exit::Pass { "pass" } else { "fail" };
            let mut answer = self.envelope(verdict, exit);
            let tools = added.tools.iter().filter_map(|(id, new)| {
                let mut value = standing_json(id, standing(id)?);
                value["new"] = (*new).into();
                Some(value)
            });
            answer.insert("tools".into(), tools.collect());
            let refused = added.refused.iter();
            let refused = refused.map(|(id, why)| json!({"toolId": id, "error": why}));
            answer.insert("refused".into(), refused.collect());
            let noticed = added.noticed.iter().map(|p| {
                json!({"tool": p.tool, "severity": p.severity.name(), "message": p.message,
                    "help": p.help})
            });
            answer.insert("problems".into(), noticed.collect());
            answer.insert("recorded".into(), facts.into());
            self.output.json(&Value::Object(answer));
            return exit;
        }
        let mut text = String::new();
        let told = |p: &&ImportProblem| p.severity != Severity::Noted;
        for problem in added.noticed.iter().filter(told) {
            let _ = writeln!(text, "{problem}");
        }
        for (_, why) in &added.refused {
            let _ = writeln!(text, "refused: {why}");
        }
        let counted: Vec<String> = states.iter().map(|(state, n)| format!("{n} {state}")).collect();
        let _ = writeln!(
            text,
            "{} tools, {new} new or changed: {}",
            added.tools.len(),
            counted.join(", ")
        );
        let first = added.tools.iter().find_map(|(id, _)| Some((id, standing(id)?)));
        if let Some((id, one)) = first {
            let _ = write!(text, "next: {}", next(id, one));
        }
        self.output.text(&text);
        exit
    }

    /// All tools.
    pub(super) fn list(&mut self, store: &Store) {
        if self.format == Format::Json {
            let mut answer = self.envelope("pass", Exit::Pass);
            let tools = store.book.iter().map(|(id, one)| standing_json(id, one));
            answer.insert("tools".into(), tools.collect());
            self.output.json(&Value::Object(answer));
            return;
        }
        let rows = store.book.iter().map(|(id, one)| {
            let scopes: Vec<&str> = one.scopes.keys().map(String::as_str).collect();
            let version = one.version.map(|version| version.short()).unwrap_or_default();
            let why = one.why.as_deref().unwrap_or_default().chars().take(60).collect();
            vec![id.to_string(), one.state().to_string(), version, scopes.join(" "), why]
        });
        let header = ["tool", "state", "version", "enabled in", "why"];
        self.output.text(&draw(&header, rows.collect(), Look::Terminal));
    }

    /// One tool, and where it stands for a principal in a scope where one asks.
    ///
    /// # Errors
    /// When its descriptor cannot be read.
    pub(super) fn show(
        &mut self,
        store: &Store,
        id: &ToolId,
        asked: Option<Asked<'_>>,
    ) -> Result<(), CliError> {
        let Some(one) = store.book.get(id) else { return Ok(()) };
        let found = one.version.map(|version| store.descriptor(&version)).transpose()?;
        let found = found.map(|descriptor| described(descriptor, one));
        let asked = asked.map(|asked| (asked, stands_for(one, found.as_ref(), asked)));
        if self.format == Format::Json {
            let mut answer = self.envelope("pass", Exit::Pass);
            answer.insert("tool".into(), standing_json(id, one));
            answer.insert("descriptor".into(), json!(found));
            if let Some((asked, state)) = asked {
                let value = json!({"principal": asked.principal, "tenant": asked.tenant,
                    "scope": asked.scope, "state": state.name()});
                answer.insert("for".into(), value);
            }
            answer.insert("next".into(), next(id, one).into());
            self.output.json(&Value::Object(answer));
            return Ok(());
        }
        let mut text = format!("{id}: {}\n", one.state());
        let mut line = |key: &str, value: String| {
            if !value.is_empty() {
                let _ = writeln!(text, "  {key:<12} {value}");
            }
        };
        line("source", one.source.clone().unwrap_or_default());
        for version in &one.versions {
            let mark = if Some(*version) == one.version { " (the one in question)" } else { "" };
            line("version", format!("{version}{mark}"));
        }
        line("why", one.why.clone().unwrap_or_default());
        line("by", one.by.clone().unwrap_or_default());
        if let Some((by, accepted)) = &one.review {
            line("review", format!("{} by {by}", if *accepted { "accepted" } else { "rejected" }));
        }
        for (scope, evidence) in &one.scopes {
            let rests = evidence.map_or("on no evidence".to_owned(), |on| format!("on {on}"));
            line("enabled", format!("in {scope}, {rests}"));
        }
        for grant in one.grants.values() {
            let end =
                grant.expires_at.map_or("without an end".to_owned(), |at| format!("until {at}"));
            line(
                "grant",
                format!(
                    "{} to {} in {}, {end}",
                    grant.grant_id,
                    acting(&grant.principal, grant.tenant.as_deref()),
                    grant.scope
                ),
            );
        }
        if let Some((asked, state)) = asked {
            let whom = acting(asked.principal, asked.tenant);
            line("asked", format!("for {whom} in {} it is {state}", asked.scope));
        }
        line("successor", one.successor.as_ref().map(ToString::to_string).unwrap_or_default());
        if let Some(found) = &found {
            line("registered", found.lifecycle.registered_at.clone().unwrap_or_default());
            line("updated", found.lifecycle.updated_at.clone().unwrap_or_default());
            line("owner", found.lifecycle.owner.clone().unwrap_or_default());
            line("package", found.source.package_name.clone().unwrap_or_default());
            line("command", found.source.command.clone().unwrap_or_default());
            line("uri", found.source.uri.clone().unwrap_or_default());
            line("references", found.provenance.source_refs.join(" "));
            line("says", found.description.summary.lines().next().unwrap_or_default().to_owned());
        }
        let _ = write!(text, "next: {}", next(id, one));
        self.output.text(&text);
        Ok(())
    }
}

fn standing_json(id: &ToolId, one: &Standing) -> Value {
    let review = one.review.as_ref().map(|(by, yes)| json!({"by": by, "accepted": yes}));
    let scopes = one.scopes.iter().map(|(scope, on)| json!({"scope": scope, "evidence": on}));
    json!({
        "toolId": id, "state": one.state().name(), "source": one.source,
        "version": one.version, "versions": one.versions, "manifestHash": one.manifest,
        "why": one.why, "by": one.by, "review": review, "enabled": scopes.collect::<Vec<_>>(),
        "grants": one.grants.values().collect::<Vec<_>>(), "successor": one.successor,
    })
}

/// Who asks, for whom, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) principal: &'a str,
    pub(super) tenant: Option<&'a str>,
    pub(super) scope: &'a str,
}

/// Where it stands for a principal in a scope, now.
fn stands_for(one: &Standing, found: Option<&Descriptor>, asked: Asked<'_>) -> State {
    let Some(descriptor) = found else { return one.state() };
    let (level, trust) = (risk::level(descriptor), descriptor.provenance.trust_level);
    let Asked { principal, tenant, scope } = asked;
    one.state_for(&Asks { scope, principal, tenant, now: wall_clock(), level, trust })
}

/// A principal, and for whom it acts.
fn acting(principal: &str, tenant: Option<&str>) -> String {
    tenant.map_or_else(|| principal.to_owned(), |tenant| format!("{principal} for {tenant}"))
}

fn tried_json(one: &Tried) -> Value {
    match &one.found {
        Some(Ok(found)) => json!({"what": one.what, "passed": true, "found": found}),
        Some(Err(why)) => json!({"what": one.what, "passed": false, "found": why}),
        None => json!({"what": one.what, "passed": null, "found": one.left_out}),
    }
}

fn command(rest: String) -> String {
    format!("`proofmark registry {rest}`")
}

/// The command that leads on from where a tool stands.
fn next(id: &ToolId, one: &Standing) -> String {
    match one.state() {
        State::Discovered | State::Parsed | State::Normalized => {
            format!("{} again; it was stopped in the middle", command("add".into()))
        }
        State::Verified => {
            let golden = command(format!("enable {id} --evidence reports/TIME/run.jsonl"));
            let without = format!("enable {id} --scope {EVALUATION} --without-evidence WHY");
            format!("{golden}, or {} to measure it", command(without))
        }
        State::Enabled => command(format!("grant {id} --to PRINCIPAL")),
        State::Granted | State::Callable => {
            let grant = one.grants.keys().next().map_or("GRANT", String::as_str);
            format!("nothing; {} takes it back", command(format!("revoke {grant} --by NAME")))
        }
        State::InvalidSchema | State::PermissionLintFailed | State::SandboxLintFailed => {
            format!("mend its definition, then {} again", command("add".into()))
        }
        State::SecurityReviewRequired => command(format!("review {id} --by NAME")),
        State::HealthCheckFailed => command(format!("health {id}")),
        State::Blocked => "a block is final; register another tool under another id".to_owned(),
        State::Deprecated => match &one.successor {
            Some(other) => format!("use `{other}`"),
            None => format!("{} with a new version", command("add".into())),
        },
    }
}

/// The command that gives what is missing.
fn help(store: &Store, refusal: &Refusal) -> String {
    match refusal {
        Refusal::Unknown(id) => {
            let names = store.book.iter().map(|(id, _)| id.as_str());
            match crate::base::problem::nearest(id, names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("{} shows what there is", command("list".into())),
            }
        }
        Refusal::Order { tool, .. } => {
            store.book.get(tool).map_or_else(|| command("list".into()), |one| next(tool, one))
        }
        Refusal::NoEvidence { tool, .. } => {
            let evidence = command(format!("enable {tool} --evidence reports/TIME/run.jsonl"));
            format!("`proofmark run` a suite with golden prompts for it, then {evidence}")
        }
        Refusal::TooFew { .. } => "add golden prompts to its suite and run it again".to_owned(),
        Refusal::TooWeak { .. } => {
            "`proofmark show CASE` says why; mend the description and add it again".to_owned()
        }
        Refusal::NotEnabled { tool, scope } => {
            command(format!("enable {tool} --scope {scope} --evidence reports/TIME/run.jsonl"))
        }
        Refusal::Blank(_) => "name it".to_owned(),
        Refusal::Manifest { .. } => {
            "look at what changed, then state the new hash or none".to_owned()
        }
        Refusal::Signature { .. } => {
            "look at what changed, then sign it again or state no signature".to_owned()
        }
        Refusal::NoGrant(_) => {
            format!("{} shows the grants of a tool", command("show ID".into()))
        }
        Refusal::OwnSuccessor(_) => "name another tool, or none".to_owned(),
    }
}
