//! What is wrong with a file that somebody wrote: where, what, and what to do.

use std::fmt;

/// A place in a text: line and column, both from 1, counted in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// Line number, from 1; 0 when the place is the whole file.
    pub line: usize,
    /// Column number, from 1; 0 when the place is the whole line.
    pub column: usize,
}

impl Position {
    /// The place `line`:`column`.
    pub fn new(line: usize, column: usize) -> Self {
        Self { line, column }
    }

    /// The position of byte `offset` in `text`.
    pub fn of_offset(text: &str, offset: usize) -> Self {
        let before = text.get(..offset.min(text.len())).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        Self { line, column }
    }
}

/// One problem in one input file. Loaders return all of them, sorted by place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file as the user named it.
    pub file: String,
    /// Where in the file.
    pub at: Position,
    /// What is wrong and what was expected, a lower-case fragment.
    pub message: String,
    /// What to do: the nearest right name, or the step that mends it.
    pub help: Option<String>,
}

impl Problem {
    /// A problem at a place.
    pub fn new(file: impl Into<String>, at: Position, message: impl Into<String>) -> Self {
        Self { file: file.into(), at, message: message.into(), help: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds `did you mean ...` when one of `names` is close to `wrong`, else lists what is known.
    #[must_use]
    pub fn suggest<'a>(self, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        match nearest(wrong, names.iter().copied()) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None if names.is_empty() || names.len() > 20 => self,
            None => self.help(format!("known here: {}", names.join(", "))),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.at.line > 0 {
            write!(f, ":{}", self.at.line)?;
        }
        if self.at.column > 0 {
            write!(f, ":{}", self.at.column)?;
        }
        write!(f, ": {}", self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

/// The name among `names` nearest to `wrong` by Jaro-Winkler similarity, when at least 0.85.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&wrong.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(score, _)| *score >= 0.85)
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters() {
        assert_eq!(Position::of_offset("aé\nbc", 0), Position::new(1, 1));
        assert_eq!(Position::of_offset("aé\nbc", 4), Position::new(2, 1));
        assert_eq!(Position::of_offset("aé\nbc", 99), Position::new(2, 3));
    }

    #[test]
    fn nearest_name_or_none() {
        assert_eq!(nearest("pahts", ["paths", "effects"]), Some("paths"));
        assert_eq!(nearest("zzz", ["paths", "effects"]), None);
        let problem = Problem::new("a.yaml", Position::new(3, 5), "unknown key `pahts`");
        let text = problem.suggest("pahts", ["paths"]).to_string();
        assert_eq!(text, "a.yaml:3:5: unknown key `pahts`; did you mean `paths`?");
    }
}
