//! Which faults exist at all this time: drawn first and printed, so that a session has few kinds
//! of trouble and much of each.

use crate::base::choice::Choices;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $text:literal,)+) => {
        /// A kind of trouble.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind { $($(#[$doc])* $name,)+ }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The name as written in reports.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }
        }
    };
}

kinds! {
    /// A hook changes arguments.
    HookRewrites "hook_rewrites",
    /// A hook changes the name.
    HookRenames "hook_renames",
    /// A hook cancels.
    HookCancels "hook_cancels",
    /// A guard hook fails.
    HookFails "hook_fails",
    /// A watching hook fails.
    WatcherFails "watcher_fails",
    /// A tool fails.
    ToolFails "tool_fails",
    /// A tool fails in a way that may be tried again.
    ToolFlaky "tool_flaky",
    /// A tool never ends.
    ToolHangs "tool_hangs",
    /// A tool panics.
    ToolPanics "tool_panics",
    /// A tool gives what its schema does not allow.
    ToolGarbage "tool_garbage",
    /// A tool gives far too much.
    ToolHuge "tool_huge",
    /// A tool gives a secret away.
    ToolLeaks "tool_leaks",
    /// A tool touches what it did not declare.
    ToolStrays "tool_strays",
    /// A tool gives nothing.
    ToolSilent "tool_silent",
    /// A tool ends twice.
    ToolTwice "tool_twice",
    /// A tool that is torn down had ended already.
    ToolFaster "tool_faster",
    /// A person says no.
    SaysNo "says_no",
    /// A person answers with a text.
    SaysInstead "says_instead",
    /// A yes reaches further than one call.
    SaysAlways "says_always",
    /// A yes that is stronger, or weaker, than was asked.
    SaysStrong "says_strong",
    /// An answer comes after its time.
    SaysLate "says_late",
    /// An answer comes twice.
    SaysTwice "says_twice",
    /// An answer is addressed to nobody.
    SaysElsewhere "says_elsewhere",
    /// No answer comes.
    SaysNothing "says_nothing",
    /// There is nobody.
    SaysUnreachable "says_unreachable",
    /// A model repeats itself.
    Repeats "repeats",
    /// A model writes arguments that fail.
    Mangles "mangles",
    /// A model writes the approval marker itself.
    Forges "forges",
    /// A model invents a tool.
    Invents "invents",
    /// A model asks for an excluded tool.
    Excluded "excluded",
    /// A model looks for tools.
    Searches "searches",
    /// A model gives no ids, or the same twice.
    DropsIds "drops_ids",
    /// A model rehearses calls in its reasoning.
    Rehearses "rehearses",
    /// A reply is cut off in the middle of its arguments.
    Truncates "truncates",
    /// A model writes a secret into its arguments.
    Discloses "discloses",
    /// The provider fails.
    ProviderFails "provider_fails",
    /// A reply comes after nobody waits for it.
    RepliesLate "replies_late",
    /// The file that would run is changed between the answer and the start.
    OperandChanges "operand_changes",
    /// A verifier does not pass a result.
    VerifierRefuses "verifier_refuses",
    /// A tool tells people's data.
    ToolTells "tool_tells",
    /// The intent says that nothing is to be written.
    Intends "intends",
    /// Another model takes over.
    Switches "switches",
    /// The user speaks while the turn runs.
    Steers "steers",
    /// The turn is cancelled.
    Cancels "cancels",
    /// A grant is taken back.
    Revokes "revokes",
    /// The turn has a deadline.
    Deadline "deadline",
    /// The turn may start few calls.
    Budget "budget",
    /// Calls may run in parallel.
    Parallel "parallel",
    /// The duplicate guard looks at the whole turn.
    WholeTurn "whole_turn",
    /// Results are cut very short.
    Tight "tight",
    /// The text protocol is spoken.
    Text "text",
    /// Nobody can be asked.
    NonInteractive "non_interactive",
    /// The loop guard has little patience.
    Impatient "impatient",
    /// A model delegates.
    Delegates "delegates",
    /// Somebody is shown what happens.
    Surfaces "surfaces",
    /// A sink fails.
    SinkPanics "sink_panics",
    /// A tool is blocked.
    Blocks "blocks",
}

impl Kind {
    /// It exists in one of this many sessions that are not calm. What makes a session much longer
    /// is rare, so that the others do not pay for it.
    fn one_in(self) -> usize {
        match self {
            Self::Delegates | Self::Surfaces | Self::Blocks => 8,
            _ => 2,
        }
    }
}

/// What exists this time, and what was drawn.
#[derive(Debug, Clone)]
pub struct Swarm {
    on: Vec<bool>,
    drawn: Vec<u64>,
}

impl Swarm {
    /// Draws: in every fourth session everything is well, else most kinds exist every other time.
    pub fn draw(choices: &mut dyn Choices) -> Self {
        let calm = choices.pick(4) == 0;
        let on = Kind::ALL.iter().map(|kind| !calm && choices.pick(kind.one_in()) == 1).collect();
        Self { on, drawn: vec![0; Kind::ALL.len()] }
    }

    /// Exactly these kinds.
    pub fn of(kinds: &[Kind]) -> Self {
        let on = Kind::ALL.iter().map(|kind| kinds.contains(kind)).collect();
        Self { on, drawn: vec![0; Kind::ALL.len()] }
    }

    /// Whether a kind exists.
    pub fn has(&self, kind: Kind) -> bool {
        self.on.get(kind as usize).copied().unwrap_or(false)
    }

    /// Whether it happens now: once in `n` times where it exists.
    pub fn strikes(&mut self, kind: Kind, n: usize, choices: &mut dyn Choices) -> bool {
        let strikes = self.has(kind) && choices.once_in(n);
        if strikes {
            self.note(kind);
        }
        strikes
    }

    /// It happened.
    pub fn note(&mut self, kind: Kind) {
        if let Some(count) = self.drawn.get_mut(kind as usize) {
            *count += 1;
        }
    }

    /// The kinds that exist, by name.
    pub fn names(&self) -> Vec<&'static str> {
        Kind::ALL.iter().filter(|kind| self.has(**kind)).map(|kind| kind.name()).collect()
    }

    /// How often each kind happened, in the order of the list.
    pub fn drawn(&self) -> &[u64] {
        &self.drawn
    }
}
