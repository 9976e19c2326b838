//! Tools, people and hooks with all their faults, drawn from choices.

use serde_json::json;

use super::oracle::{End, PersonSaid};
use super::scene::{Args, COSTLY, TOOLS, Tool, alias, secret};
use super::swarm::{Kind, Swarm};
use crate::base::choice::Choices;
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::Blame;
use crate::runtime::exec::Ran;
use crate::runtime::guard::{AnswerScope, HookVerdict, Verdict};

/// What a tool does next.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is built and taken apart at once")]
pub enum Act {
    /// It ends, and verification must say this of it.
    Ends(Ran, End),
    /// It does not end by itself.
    Hangs,
}

/// How a running tool goes on.
pub fn tool(tool: &Tool, swarm: &mut Swarm, choices: &mut dyn Choices) -> Act {
    let failed = |code: &str| Ran::failed(Blame::Tool, code, format!("{code} it was"));
    if swarm.strikes(Kind::ToolHangs, 6, choices) {
        return Act::Hangs;
    }
    if tool.retries > 0 && swarm.strikes(Kind::ToolFlaky, 2, choices) {
        return Act::Ends(failed("flaky"), End::Bad);
    }
    if swarm.strikes(Kind::ToolFails, 4, choices) {
        let tells = tool.name == "gauge.read" && swarm.strikes(Kind::ToolTells, 2, choices);
        let told = if tells { "told ann@example.org alone" } else { "exit_status it was" };
        let partial = Ran::failed(Blame::Tool, "exit_status", told.to_owned());
        let partial = Ran { output: "half of it".to_owned(), ..partial };
        return Act::Ends(partial, End::Bad);
    }
    if swarm.strikes(Kind::ToolPanics, 8, choices) {
        return Act::Ends(failed("panic"), End::Bad);
    }
    let mut ran = Ran::ok(format!("what {} says", tool.name), effects(tool));
    let mut end = End::Good;
    if tool.name == COSTLY {
        ran.structured = Some(json!({"total": 3}));
        if swarm.strikes(Kind::ToolGarbage, 3, choices) {
            ran.structured = Some(json!({"total": "three", "\u{0}": [null]}));
            end = End::Bad;
        }
    }
    if swarm.strikes(Kind::ToolHuge, 5, choices) {
        ran.output = "äöü 漢字 ".repeat(900);
    }
    if swarm.strikes(Kind::ToolSilent, 5, choices) {
        ran.output = " \n".to_owned();
    }
    if tool.name == "gauge.read" && swarm.strikes(Kind::ToolTells, 2, choices) {
        ran.output = format!("{} of ann@example.org, +49 30 901820", ran.output);
    }
    if tool.name == COSTLY && swarm.strikes(Kind::ToolTells, 2, choices) {
        ran.effects.cost_usd = Some(0.1);
    }
    if tool.name == "vault.open" || swarm.strikes(Kind::ToolLeaks, 4, choices) {
        let place = choices.pick(3);
        let words = ["before ", "", "\u{1F511}"][place];
        ran.output = format!("{words}{} after {}", secret().expose(), ran.output);
    }
    if swarm.strikes(Kind::ToolLeaks, 6, choices) {
        // A name that nobody declared, and that is a secret itself.
        ran.effects.reads.push(format!("memory:{}", secret().expose()));
        end = End::Bad;
    }
    if swarm.strikes(Kind::ToolStrays, 6, choices) {
        ran.effects.writes.push("workspace:elsewhere".to_owned());
        end = End::Bad;
    }
    Act::Ends(ran, end)
}

fn effects(tool: &Tool) -> ObservedEffects {
    let mut effects = ObservedEffects { method: "workspace".to_owned(), ..Default::default() };
    match tool.name {
        "note.read" => effects.reads.push("workspace:a".to_owned()),
        "note.write" => effects.writes.push("workspace:a".to_owned()),
        "page.write" => effects.writes.push("workspace:b/c".to_owned()),
        _ => {}
    }
    effects
}

/// What a person answers, and what that must mean.
pub fn person(strong: bool, swarm: &mut Swarm, choices: &mut dyn Choices) -> (Verdict, PersonSaid) {
    if swarm.strikes(Kind::SaysUnreachable, 5, choices) {
        return (Verdict::Unreachable, PersonSaid::Nothing);
    }
    if swarm.strikes(Kind::SaysNo, 2, choices) {
        let reason = format!("no, not with {}", secret().expose());
        return (Verdict::No { reason }, PersonSaid::No);
    }
    if swarm.strikes(Kind::SaysInstead, 4, choices) {
        let text = format!("say {} instead", secret().expose());
        return (Verdict::Replace { text }, PersonSaid::Instead);
    }
    let other = swarm.strikes(Kind::SaysStrong, 3, choices);
    let strongly = strong != other;
    let scope = if swarm.strikes(Kind::SaysAlways, 2, choices) {
        [AnswerScope::Session, AnswerScope::Always][choices.pick(2)]
    } else {
        AnswerScope::Once
    };
    let said = if strongly { PersonSaid::StrongYes } else { PersonSaid::Yes };
    (Verdict::Yes { strong: strongly, scope }, said)
}

/// What a hook before a call does; a new name or new arguments with it.
pub fn hook(
    name: &str,
    swarm: &mut Swarm,
    choices: &mut dyn Choices,
) -> (HookVerdict, Option<&'static str>, Option<Args>) {
    let observer = name == "watcher";
    let fails = if observer { Kind::WatcherFails } else { Kind::HookFails };
    if swarm.strikes(fails, 6, choices) {
        let why = format!("it panicked over {}", secret().expose());
        return (HookVerdict::Failed { why }, None, None);
    }
    if swarm.strikes(Kind::HookCancels, 6, choices) {
        let reason = "not on a Monday".to_owned();
        return (HookVerdict::Cancel { reason }, None, None);
    }
    let renames = swarm.strikes(Kind::HookRenames, 6, choices);
    let rewrites = swarm.strikes(Kind::HookRewrites, 4, choices);
    if !renames && !rewrites {
        return (HookVerdict::Pass, None, None);
    }
    let name = renames.then(|| TOOLS[choices.pick(TOOLS.len())].name);
    let args = rewrites
        .then(|| [Args::Good, Args::Other, Args::Forbidden, Args::WrongType][choices.pick(4)]);
    let verdict = HookVerdict::Rewrite {
        name: name.map(alias),
        args: args.and_then(|args| serde_json::from_str(&args.text()).ok()),
    };
    (verdict, name, args)
}
