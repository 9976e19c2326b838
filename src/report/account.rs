//! The account of a call, for people in 80 columns and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::law::account::questions::QUESTIONS;
use crate::law::account::{Account, Answer};

/// Columns of a line.
const COLUMNS: usize = 80;

/// Items longer than this get a line of their own.
const SHORT: usize = 30;

/// How many items a person is shown: long ones, short ones.
const SHOWN: (usize, usize) = (8, 30);

/// The account for people: each question with its answer and the entries that it rests on.
pub fn text(account: &Account) -> String {
    let mut out = String::new();
    paragraph(
        &mut out,
        0,
        &format!("{} {}, session {}", account.call, account.tool, account.session),
    );
    for (question, answer) in QUESTIONS.iter().zip(&account.answers) {
        let _ = writeln!(out, "\n{} ({})", question.asks, answer.key);
        let unknown = if answer.known { "" } else { "Unknown: " };
        let facts: Vec<String> = answer.facts.iter().map(|seq| format!("#{seq}")).collect();
        paragraph(&mut out, 2, &format!("{unknown}{} {}", answer.text, facts.join(" ")));
        items(&mut out, answer);
    }
    out
}

fn items(out: &mut String, answer: &Answer) {
    let short = answer.items.iter().all(|item| item.chars().count() <= SHORT);
    let most = if short { SHOWN.1 } else { SHOWN.0 };
    let shown = answer.items.get(..most).unwrap_or(&answer.items);
    if short {
        paragraph(out, 4, &shown.join(", "));
    } else {
        shown.iter().for_each(|item| paragraph(out, 4, item));
    }
    let left = answer.items.len() - shown.len();
    if left > 0 {
        let _ = writeln!(out, "    and {left} more");
    }
}

/// Words in lines that fit; a word that is longer than a line is broken.
fn paragraph(out: &mut String, indent: usize, text: &str) {
    let room = COLUMNS - indent;
    let mut line = String::new();
    let mut width = 0;
    let mut flush = |line: &mut String, width: &mut usize| {
        if !line.is_empty() {
            let _ = writeln!(out, "{:indent$}{line}", "");
        }
        line.clear();
        *width = 0;
    };
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let chars: Vec<char> = word.chars().collect();
        for part in chars.chunks(room) {
            if width > 0 && width + 1 + part.len() > room {
                flush(&mut line, &mut width);
            }
            if width > 0 {
                line.push(' ');
                width += 1;
            }
            line.extend(part);
            width += part.len();
        }
    }
    flush(&mut line, &mut width);
}

/// The account for programs: `answers` has one object for each question, in the table's order.
pub fn json(account: &Account) -> Value {
    let answers = QUESTIONS.iter().zip(&account.answers).map(|(question, answer)| {
        json!({"key": answer.key, "question": question.asks, "known": answer.known,
            "answer": answer.text, "items": answer.items, "facts": answer.facts})
    });
    json!({"session": account.session, "call": account.call, "tool": account.tool,
        "answers": answers.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_within_the_columns() {
        let mut out = String::new();
        let long = "ä".repeat(200);
        paragraph(&mut out, 4, &format!("a bc {long} d {}", "word ".repeat(60)));
        assert!(out.lines().all(|line| line.chars().count() <= COLUMNS), "{out}");
        assert_eq!(out.matches("word").count(), 60);
        assert_eq!(out.matches('ä').count(), 200);
    }
}
