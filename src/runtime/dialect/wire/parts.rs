//! A reply while it arrives: its parts in their order, and which calls are known to be whole.

use super::error::{Fault, Trouble};
use super::fields::{Fields, Pieces};
use crate::runtime::dialect::{RawCall, Reply};

const CUT: &str = "the reply ended inside the call";
const TWICE: &str = "a member of the call stands twice";
const ASTRAY: &str = "the call has no arguments, and there are arguments that belong to no call";
const PIECEWISE: &str = "its arguments came in a form that is not read";

/// Stands behind the arguments of a flawed call, so that they are no JSON and not blank either.
const MORE: &str = "…";

/// A call while it arrives.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    pub(super) id: Option<String>,
    pub(super) name: Pieces,
    arguments: Pieces,
    /// Whether the arguments came with the beginning of the call: pieces that follow replace them.
    given: bool,
    scan: Scan,
    /// Whether nothing more can belong to it.
    pub(super) sealed: bool,
    flaw: Option<&'static str>,
}

impl Call {
    /// The beginning of a call: `id`, `name` and what stands in `arguments` so far.
    pub(super) fn begin(id: Option<String>, fields: &Fields<'_>, arguments: &str) -> Self {
        let name = fields.text("name").unwrap_or_default();
        let mut call = Self { id, name, ..Self::default() };
        if let Some(arguments) = fields.argument(arguments) {
            call.push(&arguments);
        }
        call.doubt(fields);
        call
    }

    /// Says that pieces which follow take the place of the arguments so far.
    pub(super) fn until_pieces(mut self) -> Self {
        self.given = true;
        self
    }

    /// Takes over what is wrong with a piece.
    pub(super) fn inherit(&mut self, piece: &Self) {
        self.flaw = self.flaw.or(piece.flaw);
    }

    /// Marks a call one of whose members stands twice.
    pub(super) fn doubt(&mut self, fields: &Fields<'_>) {
        if fields.is_torn() {
            self.flaw = Some(TWICE);
        }
    }

    /// Marks a call whose arguments cannot be put together.
    pub(super) fn refuse(&mut self) {
        self.flaw = Some(PIECEWISE);
    }

    /// Marks a call that its provider calls incomplete.
    pub(super) fn cut(&mut self) {
        self.flaw = Some(CUT);
    }

    /// Adds a piece of the arguments.
    pub(super) fn push(&mut self, piece: &Pieces) {
        if piece.is_empty() {
            return;
        }
        if std::mem::take(&mut self.given) {
            self.replace(piece.clone());
            return;
        }
        self.scan.read(piece.bytes());
        self.arguments.push(piece);
    }

    /// Takes these arguments in place of those so far.
    pub(super) fn replace(&mut self, arguments: Pieces) {
        self.scan = Scan::default();
        self.scan.read(arguments.bytes());
        self.arguments = arguments;
    }

    /// The arguments so far, which are this call's no longer.
    pub(super) fn take_arguments(&mut self) -> Pieces {
        std::mem::take(&mut self.arguments)
    }

    /// Whether the arguments look like one object that is at its end.
    pub(super) fn is_closed(&self) -> bool {
        self.scan.at == Place::Behind
    }

    /// Whether no arguments came yet.
    pub(super) fn is_blank(&self) -> bool {
        self.arguments.is_blank()
    }

    fn raw(self) -> RawCall {
        let mut arguments = self.arguments.arguments();
        if self.flaw.is_some() {
            arguments.push_str(MORE);
        }
        RawCall { flaw: self.flaw, ..RawCall::native(self.id, self.name.text(), arguments) }
    }
}

/// Where in a text that should be one object.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Inside,
    String,
    Escape,
    Behind,
    /// It is something else.
    Astray,
}

/// Finds the end of an object, byte by byte, so that nobody reads the arguments again with every
/// piece. It believes brackets; the arguments themselves are read strictly once they are whole.
#[derive(Debug, Clone, Default)]
struct Scan {
    at: Place,
    depth: usize,
}

impl Scan {
    fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.at = match (self.at, byte) {
                (Place::Before | Place::Behind, b' ' | b'\t' | b'\n' | b'\r') => self.at,
                (Place::Before, b'{') | (Place::Inside, b'{' | b'[') => {
                    self.depth += 1;
                    Place::Inside
                }
                (Place::Inside, b'}' | b']') => {
                    self.depth -= 1;
                    if self.depth == 0 { Place::Behind } else { Place::Inside }
                }
                (Place::Inside, b'"') => Place::String,
                (Place::String, b'"') => Place::Inside,
                (Place::String, b'\\') => Place::Escape,
                (Place::String | Place::Escape, _) => Place::String,
                (Place::Inside, _) => Place::Inside,
                (Place::Before | Place::Behind | Place::Astray, _) => Place::Astray,
            };
        }
    }
}

/// How a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It said that it was at its end.
    Whole,
    /// It ended at a limit: what stands last may be cut, also where it looks whole, because some
    /// servers close what the limit left open.
    Short,
    /// It is at its end and does not say why.
    Unsaid,
    /// It broke off, or failed.
    Early,
}

impl Ending {
    /// The ending that a stop reason tells of.
    pub(super) fn of(finish: Option<&str>) -> Self {
        match finish {
            Some("length") => Self::Short,
            Some(_) => Self::Whole,
            None => Self::Unsaid,
        }
    }
}

/// What a part of a reply is.
#[derive(Debug, Clone)]
pub(super) enum What {
    Text(Pieces),
    Thought(Pieces),
    Call(Box<Call>),
    /// Something else, which is neither shown nor run.
    Other,
}

/// A part of a reply.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// The number by which its pieces name it.
    pub(super) index: Option<u64>,
    /// The name by which they do.
    pub(super) key: Option<String>,
    pub(super) what: What,
    /// Whether its end was told.
    pub(super) stopped: bool,
}

/// The parts so far.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    list: Vec<Part>,
    most: usize,
}

impl Parts {
    pub(super) fn new(most: usize) -> Self {
        Self { list: Vec::new(), most }
    }

    pub(super) fn list(&self) -> &[Part] {
        &self.list
    }

    pub(super) fn get(&mut self, at: usize) -> Option<&mut Part> {
        self.list.get_mut(at)
    }

    /// The call at that place.
    pub(super) fn call(&mut self, at: usize) -> Option<&mut Call> {
        match self.list.get_mut(at).map(|part| &mut part.what) {
            Some(What::Call(call)) => Some(call),
            _ => None,
        }
    }

    /// All calls, with their places.
    pub(super) fn calls(&self) -> impl DoubleEndedIterator<Item = (usize, &Part, &Call)> {
        self.list.iter().enumerate().filter_map(|(at, part)| match &part.what {
            What::Call(call) => Some((at, part, &**call)),
            _ => None,
        })
    }

    /// Seals every call so far that `done` says is at its end.
    pub(super) fn seal(&mut self, done: impl Fn(&Call, bool) -> bool) {
        for part in &mut self.list {
            if let What::Call(call) = &mut part.what
                && done(call, part.stopped)
            {
                call.sealed = true;
            }
        }
    }

    /// Adds a part; its place.
    pub(super) fn add(
        &mut self,
        index: Option<u64>,
        key: Option<String>,
        what: What,
    ) -> Result<usize, Fault> {
        if self.list.len() >= self.most {
            let message = format!("the reply has more than {} parts", self.most);
            return Err(Fault::new(Trouble::TooLong, message));
        }
        self.list.push(Part { index, key, what, stopped: false });
        Ok(self.list.len() - 1)
    }

    /// Adds to the text of a reply whose text is one part.
    pub(super) fn say(&mut self, piece: &Pieces) -> Result<(), Fault> {
        self.append(piece, What::Text)
    }

    /// Adds to the reasoning of a reply whose reasoning is one part.
    pub(super) fn think(&mut self, piece: &Pieces) -> Result<(), Fault> {
        self.append(piece, What::Thought)
    }

    fn append(&mut self, piece: &Pieces, what: fn(Pieces) -> What) -> Result<(), Fault> {
        if piece.is_empty() {
            return Ok(());
        }
        let kind = std::mem::discriminant(&what(Pieces::default()));
        let known = self.list.iter_mut().find(|part| std::mem::discriminant(&part.what) == kind);
        match known.map(|part| &mut part.what) {
            Some(What::Text(text) | What::Thought(text)) => text.push(piece),
            _ => _ = self.add(None, None, what(piece.clone()))?,
        }
        Ok(())
    }

    /// The reply. What is not known to be whole is marked, and never run.
    pub(super) fn reply(mut self, finish: Option<String>, ending: Ending) -> Reply {
        self.mark(ending);
        let (mut text, mut reasoning) = (Pieces::default(), Pieces::default());
        let mut calls = Vec::new();
        for part in self.list {
            match part.what {
                What::Text(piece) => text.push(&piece),
                What::Thought(piece) => reasoning.push(&piece),
                What::Call(call) => calls.push(call.raw()),
                What::Other => {}
            }
        }
        let some = |pieces: Pieces| (!pieces.is_empty()).then(|| pieces.text());
        Reply { text: some(text), reasoning: some(reasoning), calls, finish, explanation: None }
    }

    fn mark(&mut self, ending: Ending) {
        let last = self.list.len().saturating_sub(1);
        let mut astray = false;
        for (at, part) in self.list.iter_mut().enumerate() {
            let What::Call(call) = &mut part.what else { continue };
            let cut = !call.sealed
                && match ending {
                    Ending::Whole => false,
                    Ending::Short => at == last,
                    Ending::Unsaid => at == last && !call.is_closed(),
                    Ending::Early => true,
                };
            if cut {
                call.flaw = call.flaw.or(Some(CUT));
            }
            astray |= call.name.is_empty() && !call.is_blank();
        }
        // A call without arguments means `{}`, unless what it says may have gone elsewhere.
        for part in self.list.iter_mut().filter(|_| astray) {
            if let What::Call(call) = &mut part.what
                && call.is_blank()
            {
                call.flaw = call.flaw.or(Some(ASTRAY));
            }
        }
    }
}
