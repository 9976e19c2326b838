//! The table of questions. Keys are stable: programs read them.

use super::{Scene, Told, choice, effect, guard};

/// One question about a call.
pub struct Question {
    /// Its name in answers, the same for ever.
    pub key: &'static str,
    /// The question in our words.
    pub asks: &'static str,
    /// Which questions of seed B it answers: `2.3` is the third of section 2, `12.3` the third of
    /// principle 12. None for what the answers begin with.
    pub source: &'static [&'static str],
    /// The events and fields that the answer comes from.
    pub from: &'static str,
    pub(super) answer: fn(&Scene<'_>) -> Told,
}

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question").field("key", &self.key).finish_non_exhaustive()
    }
}

macro_rules! questions {
    ($($key:literal, $asks:literal, [$($source:literal),*], $from:literal, $answer:path;)+) => {
        /// Every question, in the order in which it is answered.
        pub const QUESTIONS: &[Question] = &[$(Question {
            key: $key,
            asks: $asks,
            source: &[$($source),*],
            from: $from,
            answer: $answer,
        }),+];
    };
}

questions! {
    "ended", "How did it end?", [],
        "ToolCallSettled, AttemptFailed, ToolCallFinished, DelegateFinished", choice::ended;
    "why", "Why was this tool called?", ["2.1", "12.1"],
        "IntentDeclared, UserPromptSubmitted, ModelReplied.text and .explanation", choice::why;
    "visible", "Which tools did the model see?", ["12.2"],
        "ViewCompiled.exposed, ModelRequested.advertised", choice::visible;
    "filtered", "Which tools were kept from it, and by what?", ["12.3"],
        "ViewCompiled.withheld", choice::filtered;
    "alternatives", "Why not another tool?", ["2.2"],
        "ModelReplied.explanation, ToolCallRewritten, ViewCompiled", choice::alternatives;
    "intent", "Does it go beyond what was intended?", ["2.3"],
        "ToolPolicyChecked.intent, ToolResultValidated.undeclared", choice::intent;
    "arguments_from", "Who made the arguments?", ["12.4"],
        "ToolCallRequested.proposedBy, ToolCallRewritten, ToolArgsValidated.defaults",
        guard::arguments_from;
    "arguments_checked", "Were the arguments checked?", ["2.4"],
        "ToolArgsValidated", guard::arguments_checked;
    "identity", "As whom, and with which scopes?", ["2.8", "12.6"],
        "SessionOpened, CredentialBound, DelegateStarted", guard::identity;
    "approval_needed", "Did it need an approval?", ["2.9"],
        "ToolPolicyChecked", guard::approval_needed;
    "approval_given", "Did anybody approve it?", ["12.5"],
        "ApprovalRequested and its answers, GrantUsed", guard::approval_given;
    "sandbox", "In which sandbox did it run?", ["2.10", "12.7"],
        "ToolSandboxPrepared", guard::sandbox;
    "reads", "What does it read?", ["2.5", "12.8"],
        "ToolCallStarted.reads, ToolCallFinished.effects", effect::reads;
    "writes", "What does it write or remove?", ["2.6", "12.8"],
        "ToolCallStarted.writes, ToolCallFinished.effects", effect::writes;
    "sent_out", "Does anything leave for the outside?", ["2.7"],
        "ToolPolicyChecked.effectClass, ToolCallFinished.effects", effect::sent_out;
    "full_result", "Where is the full result?", ["2.11", "12.9"],
        "ArtifactPersisted, ToolCallFinished", effect::full_result;
    "verified", "Was the result accepted?", ["12.10"],
        "ToolResultValidated, ReceiptIssued", effect::verified;
    "state", "What did it change in the agent's state?", ["2.12", "12.11"],
        "StateUpdated, ToolActivated", effect::state;
    "memory", "What did it change in memory?", ["2.12", "12.11"],
        "MemoryCandidate, ToolCallFinished.effects", effect::memory;
    "context", "What of it came into the model's context?", ["2.12"],
        "TranscriptAppended, ToolCallSettled", effect::context;
    "artifacts", "Which artifacts did it leave?", ["12.11"],
        "ArtifactPersisted", effect::artifacts;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_question_of_both_lists_is_asked_under_one_key() {
        let keys: BTreeSet<&str> = QUESTIONS.iter().map(|question| question.key).collect();
        assert_eq!(keys.len(), QUESTIONS.len());
        let asked: BTreeSet<String> =
            QUESTIONS.iter().flat_map(|one| one.source).map(ToString::to_string).collect();
        let wanted = [("2", 12), ("12", 11)].into_iter();
        let wanted = wanted.flat_map(|(list, n)| (1..=n).map(move |n| format!("{list}.{n}")));
        assert_eq!(asked, wanted.collect());
    }

    #[test]
    fn answers_come_from_events_that_there_are() {
        for question in QUESTIONS {
            let words = question.from.split(|c: char| !c.is_alphanumeric() && c != '.');
            let events = words.filter(|word| word.starts_with(|c: char| c.is_uppercase()));
            let events: Vec<&str> =
                events.map(|word| word.split('.').next().unwrap_or(word)).collect();
            assert!(!events.is_empty(), "{}", question.key);
            for event in events {
                assert!(crate::journal::Event::NAMES.contains(&event), "{event}");
            }
        }
    }
}
