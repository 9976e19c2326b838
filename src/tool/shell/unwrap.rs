//! A simple command, down to the program that it comes to.

use super::launcher::{self, CHANGES, Launcher, Place};
use super::read::Parts;
use super::{DEEPEST, Kind, Part, Word, name};

const UNKNOWN_PROGRAM: &str = "which program runs is not known";
const OWN_FILE: &str = "a file is named by its path, and what stands in it is not known";
const RUNS_TEXT: &str = "it runs text that is not looked into";

/// Words of the language that are no programs.
const RESERVED: [&str; 20] = [
    "{", "}", "!", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done",
    "case", "esac", "in", "select", "function", "[[", "((",
];

/// Whether a word is a reserved one.
pub(super) fn is_reserved(word: &Word) -> bool {
    match word {
        Word::Literal(text) | Word::Unknown(text) => RESERVED.contains(&text.as_str()),
    }
}

/// Adds a command's parts: itself, and whatever it starts.
pub(super) fn unwrap(
    (words, doubt): (Vec<Word>, Option<&'static str>),
    parts: &mut Parts,
    depth: usize,
) {
    if words.is_empty() || parts.full() {
        return;
    }
    if depth > DEEPEST {
        return parts.push(Part::new(Kind::Command, words, Some("it is nested too deeply")));
    }
    // The grammar takes a reserved word for a program where it expects none, as in `! if a; then`.
    if is_reserved(&words[0]) {
        let pieces = words.split(is_reserved);
        let pieces: Vec<Vec<Word>> = pieces.map(<[Word]>::to_vec).collect();
        parts.push(Part::new(Kind::Command, words, doubt.or(Some(UNKNOWN_PROGRAM))));
        for piece in pieces {
            unwrap((piece, doubt), parts, depth + 1);
        }
        return;
    }
    let Some(program) = words[0].literal().map(str::to_owned) else {
        return parts.push(Part::new(Kind::Command, words, doubt.or(Some(UNKNOWN_PROGRAM))));
    };
    let doubt = doubt.or(elsewhere(&program));
    let own = name(&program);
    if let Some(launcher) = launcher::find(own) {
        return launched(launcher, (words, doubt), parts, depth);
    }
    if launcher::is_shell(own) {
        return shell((words, doubt), parts, depth);
    }
    let doubt = doubt.or(in_doubt(own, &words));
    let lines = lines(own, &words);
    let inner = if own == "find" { found(&words) } else { Vec::new() };
    parts.push(Part::new(Kind::Command, words, doubt));
    for line in lines {
        parts.line(&line, depth + 1);
    }
    for command in inner {
        unwrap((command, None), parts, depth + 1);
    }
}

/// A program named by a path is the one of that name only in the system's own folders, and under
/// that path.
fn elsewhere(program: &str) -> Option<&'static str> {
    let system = ["/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/", "/usr/local/bin/"];
    let plain = |rest: &str| !rest.is_empty() && !rest.contains('/');
    let known = system.iter().any(|folder| program.strip_prefix(folder).is_some_and(plain));
    // `a+=b` is an assignment to one shell and a program to another.
    if program.contains('=') {
        return Some(UNKNOWN_PROGRAM);
    }
    (program.contains('/') && !known).then_some(OWN_FILE)
}

/// Why a program by this name runs more than its words say.
fn in_doubt(own: &str, words: &[Word]) -> Option<&'static str> {
    let first = words.get(1).and_then(Word::literal);
    if CHANGES.contains(&own) || (own == "printf" && first.is_some_and(|one| one.starts_with("-v")))
    {
        return Some("it changes the shell itself, or runs text");
    }
    if launcher::interprets(own) {
        let asked = ["--version", "-V", "--help"].iter().any(|one| first == Some(one));
        let module = first == Some("-m") && own.starts_with("python");
        return (!(module || asked && words.len() == 2)).then_some(RUNS_TEXT);
    }
    if own == "find" && words.iter().filter_map(Word::literal).any(|word| CHANGING.contains(&word))
    {
        return Some("it runs programs, or changes files");
    }
    None
}

/// Actions of `find` that do more than look.
const CHANGING: [&str; 9] =
    ["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"];

/// The commands that `find` runs; a file that it found is not known.
fn found(words: &[Word]) -> Vec<Vec<Word>> {
    let is = |word: &Word, list: &[&str]| word.literal().is_some_and(|word| list.contains(&word));
    let file = |word: &Word| match word.literal() {
        Some(text) if text.contains("{}") => Word::Unknown(text.to_owned()),
        _ => word.clone(),
    };
    let starts = words.iter().enumerate().filter(|(_, word)| is(word, &CHANGING[..4]));
    let command = |(at, _): (usize, &Word)| {
        let rest = words[at + 1..].iter().take_while(|word| !is(word, &[";", "+"]));
        rest.map(file).collect::<Vec<_>>()
    };
    starts.map(command).filter(|command| !command.is_empty()).collect()
}

/// Lines of shell that a command of the shell is given.
fn lines(own: &str, words: &[Word]) -> Vec<String> {
    let literal = |word: &Word| word.literal().map(str::to_owned);
    match own {
        "eval" => {
            let all: Vec<String> = words[1..].iter().filter_map(literal).collect();
            if all.is_empty() { Vec::new() } else { vec![all.join(" ")] }
        }
        "trap" => words.get(1).and_then(literal).into_iter().collect(),
        "alias" => {
            let values = words[1..].iter().filter_map(literal);
            values.filter_map(|word| Some(word.split_once('=')?.1.to_owned())).collect()
        }
        _ => Vec::new(),
    }
}

/// A program that starts the one behind its options.
fn launched(
    launcher: &Launcher,
    (words, doubt): (Vec<Word>, Option<&'static str>),
    parts: &mut Parts,
    depth: usize,
) {
    let mut doubt = doubt.or(launcher.doubt);
    // `command -v NAME` tells of a program and runs none.
    let asks = launcher.name == "command"
        && words.get(1).and_then(Word::literal).is_some_and(|word| matches!(word, "-v" | "-V"));
    if asks {
        return parts.push(Part::new(Kind::Command, words, doubt));
    }
    let (mut at, mut operands, mut lines) = (1, launcher.operands, Vec::new());
    while let Some(word) = words.get(at) {
        let Some(text) = word.literal() else { break };
        match launcher.place(text) {
            Place::Option => at += 1,
            Place::Valued => at += 2,
            Place::Strange => {
                doubt = doubt.or(Some("one of its options is not known"));
                at += 1;
                let line = attached(launcher.name, text);
                let line = line.map(|line| joined(line, &words[at..]));
                lines.extend(line.map(|line| blanks(launcher.name, line)));
            }
            end => {
                at += usize::from(end == Place::End);
                break;
            }
        }
    }
    while let Some(text) = words.get(at).and_then(Word::literal) {
        if launcher.assigns && text.contains('=') {
            doubt = doubt.or(Some("a variable is set for what it starts"));
        } else if operands > 0 {
            operands -= 1;
        } else {
            break;
        }
        at += 1;
    }
    let mut inner: Vec<Word> = words.get(at..).unwrap_or_default().to_vec();
    if inner.is_empty() {
        parts.push(Part::new(Kind::Command, words, doubt));
        return lines.iter().for_each(|line| parts.line(line, depth + 1));
    }
    if launcher.adds {
        inner.push(Word::Unknown("…".to_owned()));
    }
    let first = inner[0].literal().filter(|first| first.contains(char::is_whitespace));
    if lines.is_empty() {
        lines.extend(first.map(|first| joined(first, &inner[1..])));
    }
    parts.push(Part::new(Kind::Launcher, words, doubt));
    unwrap((inner, None), parts, depth + 1);
    // What `env -S` or `watch` takes apart is read for what must not run.
    for line in lines {
        parts.line(&line, depth + 1);
    }
}

/// What is attached to an option and may be a line: behind its letter, or behind its sign. What
/// `env` takes apart is one, whatever stands in it, and also where it is the next word.
fn attached<'o>(own: &str, option: &'o str) -> Option<&'o str> {
    let (long, short) = (option.strip_prefix("--"), option.strip_prefix('-').unwrap_or_default());
    if own == "env" {
        return match long {
            Some(long) => {
                long.strip_prefix("split-string").map(|rest| rest.trim_start_matches('='))
            }
            None => short.split_once('S').map(|(_, value)| value),
        };
    }
    let value = match long {
        Some(long) => long.split_once('=')?.1,
        None => short.get(1..)?,
    };
    value.contains(char::is_whitespace).then_some(value)
}

/// What `env` spells as blanks, as blanks.
fn blanks(own: &str, line: String) -> String {
    const SPELLED: [&str; 6] = ["\\_", "\\t", "\\n", "\\v", "\\f", "\\r"];
    match own {
        "env" => SPELLED.iter().fold(line, |line, blank| line.replace(blank, " ")),
        _ => line,
    }
}

/// A line and the words behind it that are arguments of what it starts.
fn joined(line: &str, rest: &[Word]) -> String {
    let rest = rest.iter().map(|word| match word {
        Word::Literal(text) | Word::Unknown(text) => format!(" {text}"),
    });
    [line.to_owned(), rest.collect()].concat()
}

/// A shell: its line is read where it is one, and everything else of it is in doubt.
fn shell((words, doubt): (Vec<Word>, Option<&'static str>), parts: &mut Parts, depth: usize) {
    let text = |at: usize| words.get(at).and_then(Word::literal);
    let plainly = text(1).is_some_and(|option| {
        option.strip_prefix('-').is_some_and(|letters| {
            letters.contains('c') && letters.chars().all(|letter| "ceux".contains(letter))
        })
    });
    let line = text(2).filter(|line| plainly && !line.starts_with(['-', '+']));
    if let Some(line) = line.map(str::to_owned) {
        parts.push(Part::new(Kind::Launcher, words, doubt));
        return parts.line(&line, depth + 1);
    }
    // Whatever may be a line is read for what must not run.
    let all: Vec<String> = words[1..].iter().filter_map(Word::literal).map(str::to_owned).collect();
    parts.push(Part::new(Kind::Command, words, doubt.or(Some(RUNS_TEXT))));
    for line in all.iter().filter(|word| !word.starts_with('-') && word.contains(' ')) {
        parts.line(line, depth + 1);
    }
}
