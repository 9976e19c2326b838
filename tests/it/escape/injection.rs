//! Arguments that want to be more than arguments. Each is filled into a template as it should be
//! written, and into one that lets it through; only the second leaves a file behind.

use std::process::{Command, Stdio};

use proofmark::tool::template::Template;
use serde_json::{Value, json};

/// Whether a file was made by what a template and a value give; a refusal makes none.
fn injects(template: &[&str], value: &Value) -> bool {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("own"), "own").unwrap();
    let command: Vec<String> = template.iter().map(|&piece| piece.to_owned()).collect();
    let template = Template::parse(&command).unwrap();
    let Ok(words) = template.fill(&json!({"x": value})) else { return false };
    let mut wanted = Command::new(&words[0]);
    wanted.args(&words[1..]).current_dir(folder.path());
    wanted.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    wanted.status().unwrap();
    folder.path().join("pwned").exists()
}

#[test]
fn no_argument_becomes_more_than_one() {
    let shell: &[&str] = &["sh", "-c", "echo {x}"];
    let quoted: &[&str] = &["sh", "-c", "echo \"{x}\""];
    let echo: &[&str] = &["echo", "{x}"];
    let attempts: [(&str, &[&str], &[&str], Value); 15] = [
        ("a second command", echo, shell, json!("a; touch pwned")),
        ("a command after success", echo, shell, json!("a && touch pwned")),
        ("a command in the background", echo, shell, json!("a & touch pwned")),
        ("a new line", echo, shell, json!("a\ntouch pwned")),
        ("a substitution", echo, shell, json!("$(touch pwned)")),
        ("an old substitution", echo, shell, json!("`touch pwned`")),
        ("a substitution within quotes", echo, quoted, json!("$(touch pwned)")),
        ("an end of quotes", echo, quoted, json!("\"; touch pwned; \"")),
        ("a pipe", echo, shell, json!("a | tee pwned")),
        ("a redirection", echo, shell, json!("a > pwned")),
        ("a here-document", echo, shell, json!("a\ncat > pwned <<E\nx\nE")),
        (
            "an option that writes",
            &["sort", "{x}"],
            &["sort", "{x:option}"],
            json!("--output=pwned"),
        ),
        (
            "options in a list",
            &["find", "{x}"],
            &["find", "{x:option}"],
            json!(["-maxdepth", "0", "-fprint", "pwned"]),
        ),
        (
            "an option that runs",
            &["tar", "-cf", "/dev/null", "{x}"],
            &["tar", "-cf", "/dev/null", "{x:option}"],
            json!(["--checkpoint=1", "--checkpoint-action=exec=touch pwned", "own"]),
        ),
        ("a launcher's option", &["env", "{x}"], &["env", "{x:option}"], json!("-Stouch pwned")),
    ];
    for (name, kept, free, value) in attempts {
        assert!(!injects(kept, &value), "{name}: it got in");
        assert!(injects(free, &value), "{name}: it does not get in anyway");
    }
}
