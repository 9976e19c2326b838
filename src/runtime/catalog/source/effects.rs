//! What an imported tool may do. Nobody has declared it, so it is guessed from two weak signs,
//! the annotations and the verb in the name, and every doubt counts against the tool.

use super::names::shown;
use crate::tool::descriptor::{
    ApprovalPolicy, Effects, IntentSection, Permissions, RiskSection, Sandbox, SandboxMode,
};
use crate::tool::effect::{ActionType, ResourcePattern};
use crate::tool::risk::RiskLevel;
use crate::tool::sections::FinancialCost;
use crate::tool::words::{SAFE, verb, words};

/// The hints of MCP's `annotations`; the specification calls them untrusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Hints {
    pub(super) read_only: Option<bool>,
    pub(super) destructive: Option<bool>,
    pub(super) idempotent: Option<bool>,
    pub(super) open_world: Option<bool>,
}

/// The sections of a descriptor that say what it may do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Guess {
    pub(super) intent: IntentSection,
    pub(super) effects: Effects,
    pub(super) risk: RiskSection,
    pub(super) permissions: Permissions,
    pub(super) sandbox: Sandbox,
    /// Where the signs are weak or contradict each other.
    pub(super) notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nature {
    Reads,
    Changes,
    Destroys,
}

/// Guesses from the name and the hints; `area` is the glob of what the tool's source reaches.
pub(super) fn guess(name: &str, hints: Hints, area: &str) -> Guess {
    let words = words(name);
    let verb = words.iter().find_map(|word| verb(word));
    let mut notes = Vec::new();
    let nature = nature(name, &words, hints, &mut notes);
    let area = vec![ResourcePattern::new(area)];
    let writes = nature != Nature::Reads;
    let action_types = actions(nature, verb);
    let has = |action| action_types.contains(&action);
    let open_world = hints.open_world != Some(false);
    let effects = Effects {
        reads: area.clone(),
        writes: if writes { area.clone() } else { Vec::new() },
        deletes: if has(ActionType::Delete) { area } else { Vec::new() },
        // Somebody else's code runs it, whatever its hints say about its world.
        external_calls: true,
        sends_user_data: has(ActionType::ExternalSend),
        mutates_state: writes,
        idempotent: hints.idempotent == Some(true) || !writes,
        reversible: false,
        dry_run_supported: false,
    };
    let cost =
        if has(ActionType::Purchase) { FinancialCost::Metered } else { FinancialCost::default() };
    let risk = RiskSection {
        level: match nature {
            Nature::Reads => RiskLevel::Low,
            Nature::Changes => RiskLevel::Medium,
            Nature::Destroys => RiskLevel::High,
        },
        destructive: nature == Nature::Destroys,
        open_world,
        financial_cost: cost,
        ..RiskSection::default()
    };
    let approval_policy = match nature {
        Nature::Reads | Nature::Changes => ApprovalPolicy::default(),
        Nature::Destroys => ApprovalPolicy::Always,
    };
    Guess {
        intent: IntentSection { action_types, ..IntentSection::default() },
        effects,
        risk,
        permissions: Permissions { approval_policy, ..Permissions::default() },
        sandbox: Sandbox { mode: SandboxMode::RemoteApi, ..Sandbox::default() },
        notes,
    }
}

fn nature(name: &str, words: &[String], hints: Hints, notes: &mut Vec<String>) -> Nature {
    let deletes = words.iter().find_map(|word| verb(word)) == Some(ActionType::Delete);
    let name = shown(name);
    match (hints.read_only, hints.destructive) {
        (Some(true), Some(true)) => {
            notes.push("its hints call it read-only and destructive; taken as destructive".into());
            Nature::Destroys
        }
        (Some(true), _) if deletes => {
            notes.push(format!(
                "its hints call it read-only, its name {name} says that it deletes; taken as \
                 destructive"
            ));
            Nature::Destroys
        }
        (Some(true), _) => Nature::Reads,
        (_, Some(true)) => Nature::Destroys,
        (_, Some(false)) if deletes => {
            notes.push(format!(
                "its hints call it not destructive, its name {name} says that it deletes; taken \
                 as deleting"
            ));
            Nature::Changes
        }
        (_, None) if deletes => Nature::Destroys,
        (None, _) if reads_by_name(words) => {
            notes.push(format!("taken as read-only by its name {name} alone; no hint says so"));
            Nature::Reads
        }
        (Some(false) | None, Some(false) | None) => Nature::Changes,
    }
}

/// Whether the first verb only reads and no later word could be a verb that does more.
fn reads_by_name(words: &[String]) -> bool {
    let mut verbs = words.iter().filter(|word| verb(word).is_some());
    let first = verbs.next().is_some_and(|word| SAFE.contains(&word.as_str()));
    first && verbs.all(|word| SAFE.contains(&word.as_str()))
}

fn actions(nature: Nature, verb: Option<ActionType>) -> Vec<ActionType> {
    let reading = [ActionType::Read, ActionType::Search, ActionType::Inspect];
    match (nature, verb) {
        (Nature::Reads, Some(verb)) if verb != ActionType::Read && reading.contains(&verb) => {
            vec![ActionType::Read, verb]
        }
        (Nature::Reads, _) => vec![ActionType::Read],
        (_, Some(verb)) if !reading.contains(&verb) => vec![verb],
        (_, _) => vec![ActionType::Write],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ActionType::{Delete, ExternalSend, Inspect, Patch, Read, Search, Write};

    #[test]
    fn hints_and_names_decide_and_doubt_counts_against_the_tool() {
        let (t, f, n) = (Some(true), Some(false), None);
        for (name, read_only, destructive, expected, destroys, notes) in [
            ("list_files", t, f, vec![Read, Inspect], false, 0),
            ("list_files", t, n, vec![Read, Inspect], false, 0),
            ("list_files", n, n, vec![Read, Inspect], false, 1),
            ("list_files", n, f, vec![Read, Inspect], false, 1),
            ("list_files", f, f, vec![Write], false, 0),
            ("list_files", f, t, vec![Write], true, 0),
            ("search", t, n, vec![Read, Search], false, 0),
            ("query", n, n, vec![Write], false, 0),
            ("query", t, n, vec![Read, Search], false, 0),
            ("get_or_create_page", n, n, vec![Write], false, 0),
            ("get_create_fields", t, n, vec![Read], false, 0),
            ("create_page", n, n, vec![Write], false, 0),
            ("aks", n, n, vec![Write], false, 0),
            ("linear_updateIssue", f, f, vec![Patch], false, 0),
            ("updateIssue", n, t, vec![Patch], true, 0),
            ("mail_send", n, n, vec![ExternalSend], false, 0),
            ("delete_file", n, n, vec![Delete], true, 0),
            ("delete_file", f, n, vec![Delete], true, 0),
            ("delete_file", f, f, vec![Delete], false, 1),
            ("delete_file", t, n, vec![Delete], true, 1),
            ("read_file", t, t, vec![Write], true, 1),
            ("undeleted", n, n, vec![Write], false, 0),
        ] {
            let hints = Hints { read_only, destructive, ..Hints::default() };
            let guess = guess(name, hints, "mcp:s/**");
            let case = format!("{name} {read_only:?} {destructive:?}");
            assert_eq!(guess.intent.action_types, expected, "{case}");
            assert_eq!(guess.risk.destructive, destroys, "{case}");
            let asks = guess.permissions.approval_policy == ApprovalPolicy::Always;
            assert_eq!(asks, destroys, "{case}");
            assert_eq!(guess.notes.len(), notes, "{case}: {:?}", guess.notes);
            let reads = expected.first() == Some(&Read);
            assert_eq!(guess.effects.writes.is_empty(), reads, "{case}");
            assert_eq!(guess.effects.mutates_state, !reads, "{case}");
            assert!(guess.effects.external_calls, "{case}");
        }
    }

    #[test]
    fn no_hint_makes_a_tool_local() {
        let hints = Hints { open_world: Some(false), idempotent: Some(true), ..Hints::default() };
        for (name, idempotent) in [("get_time", true), ("set_time", true)] {
            let guess = guess(name, hints, "mcp:s/**");
            assert!(guess.effects.external_calls && !guess.risk.open_world, "{name}");
            assert_eq!(guess.effects.idempotent, idempotent, "{name}");
        }
        assert!(!guess("set_time", Hints::default(), "mcp:s/**").effects.idempotent);
        assert!(guess("get_time", Hints::default(), "mcp:s/**").risk.open_world);
    }
}
