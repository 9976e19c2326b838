//! A rule: a row with everything that is to be said about it, and the function that judges.

use std::ops::Range;

use super::subject::{Part, Server, Subject};

/// How much a finding matters. Mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Not judged.
    Off,
    /// A hint, or a fact to know.
    Info,
    /// It costs choices, tokens or safety.
    Warning,
    /// The tool, or the list that it is in, does not work somewhere.
    Error,
}

impl Level {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Off, Self::Info, Self::Warning, Self::Error];

    /// The name, as it is written on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// The level of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The next milder level; a hint stays one.
    pub(super) fn milder(self) -> Self {
        match self {
            Self::Error => Self::Warning,
            Self::Warning | Self::Info => Self::Info,
            Self::Off => Self::Off,
        }
    }
}

/// A provider whose facts are asked for. What a provider takes changes, so each has a version: the
/// month in which its facts were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// Chat Completions and Responses, functions without `strict`.
    OpenAiChat,
    /// The same with `strict: true`.
    OpenAiStrict,
    /// Messages.
    Anthropic,
    /// `functionDeclarations` with the classic `parameters`; `parametersJsonSchema` takes more.
    Gemini,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::OpenAiChat, Self::OpenAiStrict, Self::Anthropic, Self::Gemini];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiStrict => "openai-strict",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// When its facts were read.
    pub fn version(self) -> &'static str {
        "2026-11"
    }

    /// The profile of this name, with or without `@VERSION`.
    pub fn parse(text: &str) -> Option<Self> {
        let known = |profile: &Self| {
            let name = profile.name();
            text == name || text.strip_prefix(name) == Some(&format!("@{}", profile.version()))
        };
        Self::ALL.into_iter().find(known)
    }
}

/// What a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One tool.
    Tool,
    /// All tools of one server.
    Server,
    /// The tools of all servers that are chosen together.
    Several,
}

impl Scope {
    /// The name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tool => "one tool",
            Self::Server => "one server",
            Self::Several => "several servers",
        }
    }
}

/// Where in a tool's definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Which part of it.
    pub part: Part,
    /// A JSON pointer into that part.
    pub pointer: String,
    /// Whether the key of that member is meant, and not its value.
    pub key: bool,
    /// Bytes of the text there, where a piece of it is meant.
    pub span: Option<Range<usize>>,
}

impl Place {
    /// A whole part.
    pub(super) fn of(part: Part) -> Self {
        Self { part, pointer: String::new(), key: false, span: None }
    }

    /// A node of the schema of the arguments.
    pub(super) fn input(pointer: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), ..Self::of(Part::Input) }
    }

    /// A property of the schema of the arguments, by its key.
    pub(super) fn property(pointer: impl Into<String>) -> Self {
        Self { key: true, ..Self::input(pointer) }
    }

    /// A piece of the description.
    pub(super) fn text(span: Range<usize>) -> Self {
        Self { span: Some(span), ..Self::of(Part::Description) }
    }
}

/// One thing that a rule found in a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where.
    pub place: Place,
    /// What, a lower-case fragment.
    pub message: String,
    /// What to do here, where more can be said than the rule's own advice.
    pub help: Option<String>,
    /// Whether it matters less than the rule usually does.
    pub mild: bool,
}

impl Found {
    pub(super) fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into(), help: None, mild: false }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(super) fn mild(mut self, mild: bool) -> Self {
        self.mild = mild;
        self
    }
}

/// The function of a rule. Whatever it looks at, each finding is of one tool: numbers say which.
pub(super) enum Judge {
    /// Looks at one tool, and may look at the others of its server.
    Tool(fn(&Subject, &Server) -> Vec<Found>),
    /// Looks at all tools of a server.
    Server(fn(&Server) -> Vec<(usize, Found)>),
    /// Looks at servers together: server, tool.
    Several(fn(&[Server]) -> Vec<(usize, usize, Found)>),
    /// Needs more than descriptors; its findings are made elsewhere.
    Elsewhere(Scope),
}

/// One rule.
pub struct Rule {
    /// Kebab-case; never changes.
    pub name: &'static str,
    /// The level unless another one is asked for.
    pub level: Level,
    /// The providers whose fact it is; it is judged only when one of them is asked for. Empty where
    /// it holds everywhere.
    pub profiles: &'static [Profile],
    /// Why it is a fault.
    pub reason: &'static str,
    /// What to change.
    pub fix: &'static str,
    /// Where one such tool costs more than itself.
    pub blast: Option<&'static str>,
    /// Tools that it must not flag, as changes to the ordinary tool of [`super::registry`].
    pub good: &'static [&'static str],
    /// Tools that it must flag.
    pub bad: &'static [&'static str],
    pub(super) judge: Judge,
}

impl Rule {
    /// What it finds in a tool that stands alone; nothing where it looks at more than one.
    pub fn judge_alone(&self, tool: &Subject) -> Vec<Found> {
        match self.judge {
            Judge::Tool(judge) => judge(tool, &Server::default()),
            Judge::Server(_) | Judge::Several(_) | Judge::Elsewhere(_) => Vec::new(),
        }
    }

    /// What it looks at.
    pub fn scope(&self) -> Scope {
        match self.judge {
            Judge::Tool(_) => Scope::Tool,
            Judge::Server(_) => Scope::Server,
            Judge::Several(_) => Scope::Several,
            Judge::Elsewhere(scope) => scope,
        }
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// What a row says unless it says otherwise.
pub(super) const RULE: Rule = Rule {
    name: "",
    level: Level::Warning,
    profiles: &[],
    reason: "",
    fix: "",
    blast: None,
    good: &[],
    bad: &[],
    judge: Judge::Elsewhere(Scope::Tool),
};
