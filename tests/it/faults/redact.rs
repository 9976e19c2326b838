//! Secrets: found by value and by name, split or nested, in everything that leaves a call.

use std::time::Duration;

use proofmark::base::secret::{Secret, SecretSet};
use proofmark::journal::outcome::Blame;
use proofmark::runtime::exec::Ran;
use proofmark::runtime::mcp::{Deadlines, INHERITED, Launch, McpError, list_tools};

use super::Row;
use super::hand::Hand;
use super::record::{everything, outcomes, shown};
use super::scene::{Play, ask, command, say};
use crate::tools::tool;

pub const ROWS: &[Row] = &[
    ("B144", || {
        // A command gets a path, and nothing of what this process holds.
        let script = vec![ask(&[("env_show", "{}")]), say("ok")];
        let played = Play::new(vec![command("env.show", &["env"], "")], script).ends();
        let shown = shown(&played.journal, 0);
        let names = |text: &str| -> Vec<String> {
            let lines = text.lines().filter_map(|line| line.split_once('='));
            lines.map(|(name, _)| name.to_owned()).filter(|name| !name.contains(' ')).collect()
        };
        assert_eq!(names(&shown), ["PATH"], "{shown}");
        // A server gets a few names, and what was declared for it.
        let launch = Launch {
            program: "sh".to_owned(),
            args: ["-c", "env >&2; exit 3"].map(str::to_owned).into(),
            env: vec![("DOCS_TOKEN".to_owned(), "d1".to_owned())],
            cwd: None,
        };
        let wait = Duration::from_secs(20);
        let deadlines = Deadlines { start: wait, request: wait, stop: wait };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ended = runtime.block_on(list_tools(&launch, &deadlines));
        let Err(McpError::Exited { stderr, .. }) = ended else { panic!("{ended:?}") };
        let found = names(&stderr);
        let own = ["DOCS_TOKEN", "PWD", "SHLVL", "_", "OLDPWD"];
        let allowed = |name: &String| INHERITED.contains(&name.as_str()) || own.contains(&&**name);
        assert!(found.iter().all(allowed) && found.contains(&"DOCS_TOKEN".to_owned()), "{found:?}");
    }),
    ("B175", || {
        let secret = secret("tok");
        let secrets = SecretSet::new([Secret::new(secret.clone())]);
        let text = format!("key={secret} done, {secret}");
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let mut stream = secrets.stream();
                let pieces = [&text[..first], &text[first..second], &text[second..]];
                let mut out: String = pieces.iter().map(|piece| stream.push(piece)).collect();
                out.push_str(&stream.finish());
                assert_eq!(out, "key=[redacted] done, [redacted]", "{first} {second}");
            }
        }
    }),
    ("B177", || {
        let value = secret("svz");
        let output = format!("{}={value}", ["SEARCHCO", "API", "KEY"].join("_"));
        // Nobody knows the vendor: the name says what it is.
        let named = SecretSet::default().scrub(&output).into_owned();
        assert!(!named.contains(&value), "{named}");
        // Nobody wrote a name: the value is known.
        let known = SecretSet::new([Secret::new(value.clone())]);
        assert_eq!(known.scrub(&format!("it is {value}!")), "it is [redacted]!");
    }),
    ("B178", || {
        let (one, two) = (secret("s3cr3t-AA"), secret("s3cr3t-BB"));
        let body = format!(
            "HTTP 500: {{\"value\":\"{one}\",\"{}\":\"{two}\"}}",
            ["ACME", "API", "KEY"].join("_")
        );
        let held = [("A", one.clone()), ("B", two.clone())];
        let secrets = held.map(|(name, value)| (name, Secret::new(value))).into();
        let mut hand =
            Hand::new(Play { secrets, ..Play::new(vec![tool("t.x", "L0", "")], Vec::new()) });
        hand.calls(&[("t_x", &format!("{{\"path\":\"{one}\"}}"))]);
        let failed = Ran::failed(Blame::Server, "status_500", format!("the server said {body}"));
        hand.finish_as(0, Ran { output: body, ..failed });
        hand.say(&format!("It said {two}."));
        assert_eq!(outcomes(hand.journal()), ["t_x failed:status_500"]);
        let all = everything(hand.journal());
        assert!(!all.contains(&one) && !all.contains(&two), "some writer shows it");
        assert!(shown(hand.journal(), 0).contains("HTTP 500"), "the rest of it is told");
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}

/// A made-up secret; it stands in no file as it is.
fn secret(start: &str) -> String {
    format!("{start}_{}", ["9f8e7d6c", "Q1w2E3r4"].concat())
}
