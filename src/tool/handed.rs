//! Secrets that a program is handed when it starts: by a variable that holds the value, or by one
//! that names a file with it. Arguments are seen by every process of a machine, and hold none.

use super::descriptor::{CredentialStrategy, Descriptor, SandboxMode};

/// Adapters that start a program which nobody but its descriptor chose.
const STARTED: [&str; 2] = ["cli", "builtin:command.run"];
/// Variables that decide what a program is and where it finds things: what a secret holds must not.
const TAKEN: [&str; 5] = ["PATH", "HOME", "TMPDIR", "LANG", "IFS"];

/// Everything that is wrong, each with a JSON pointer from the descriptor.
pub(super) fn check(descriptor: &Descriptor) -> Vec<(String, String)> {
    let (execution, mut found) = (&descriptor.execution, Vec::new());
    let keys = [("secretEnv", &execution.secret_env), ("secretFiles", &execution.secret_files)];
    for (key, handed) in keys.into_iter().filter(|(_, handed)| !handed.is_empty()) {
        let at = format!("/execution/{key}");
        if !STARTED.contains(&execution.adapter.as_str()) {
            let message = format!("`{key}` is a key of the adapters `{}`", STARTED.join("` and `"));
            found.push((at, message));
            continue;
        }
        for (variable, secret) in handed {
            let wrong = variable_fault(variable).or_else(|| {
                let declared = descriptor.credentials.required_secrets.contains(secret);
                let twice = key == "secretFiles" && execution.secret_env.contains_key(variable);
                match (declared, twice) {
                    (false, _) => Some(format!(
                        "the secret `{secret}` is not in `credentials.requiredSecrets`"
                    )),
                    (true, true) => Some(format!("`{variable}` stands in `secretEnv` too")),
                    (true, false) => None,
                }
            });
            let place = format!("{at}/{}", variable.replace('~', "~0").replace('/', "~1"));
            found.extend(wrong.map(|message| (place, message)));
        }
        if descriptor.credentials.strategy == CredentialStrategy::None {
            let message = "a credential is used, and the strategy is `none`".to_owned();
            found.push(("/credentials".to_owned(), message));
        }
    }
    let unconfined = descriptor.sandbox.mode == SandboxMode::None;
    if unconfined && !execution.secret_files.is_empty() {
        let message = "a file of its own needs a sandbox, and the mode is `none`".to_owned();
        found.push(("/execution/secretFiles".to_owned(), message));
    }
    found.sort();
    found.dedup();
    found
}

fn variable_fault(name: &str) -> Option<String> {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !first || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Some(format!("`{name}` is no name of a variable"));
    }
    let proxy = name.to_ascii_lowercase().ends_with("_proxy");
    let taken = TAKEN.contains(&name) || name.starts_with("LD_") || proxy;
    taken.then(|| format!("the variable `{name}` is set by the runtime alone"))
}

#[cfg(test)]
mod tests {
    use crate::tool::manifest::parse;

    fn check(execution: &str, rest: &str, expected: &[&str]) {
        let text = format!(
            "schema: proofmark/tool@1\ntoolId: page.read\ndescription: {{summary: Read a page.}}\n\
             intent: {{actionTypes: [read]}}\nschemas: {{inputSchema: {{type: object}}}}\n\
             effects: {{reads: ['workspace:**'], writes: []}}\n{rest}\n\
             execution: {{adapter: cli, command: [ls], {execution}}}\n"
        );
        let problems = parse("t.yaml", &text).map(|_| ()).err().unwrap_or_default();
        let found: Vec<String> = problems.iter().map(|one| one.message.clone()).collect();
        assert_eq!(found, expected, "{execution}");
    }

    #[test]
    fn what_a_program_is_handed_is_declared_and_has_a_place_of_its_own() {
        let held = "credentials: {strategy: system, requiredSecrets: [KEY]}\n\
             sandbox: {mode: read_only}";
        check("secretEnv: {TOKEN: KEY}, secretFiles: {TOKEN_FILE: KEY}", held, &[]);
        check(
            "secretEnv: {TOKEN: OTHER}",
            held,
            &["the secret `OTHER` is not in `credentials.requiredSecrets`"],
        );
        check("secretEnv: {'A=B': KEY}", held, &["`A=B` is no name of a variable"]);
        for name in ["PATH", "LD_PRELOAD", "https_proxy"] {
            let message = format!("the variable `{name}` is set by the runtime alone");
            check(&format!("secretEnv: {{{name}: KEY}}"), held, &[&message]);
        }
        check(
            "secretEnv: {TOKEN: KEY}, secretFiles: {TOKEN: KEY}",
            held,
            &["`TOKEN` stands in `secretEnv` too"],
        );
        check(
            "secretEnv: {TOKEN: KEY}",
            &held.replace("strategy: system, ", ""),
            &["a credential is used, and the strategy is `none`"],
        );
        check(
            "secretFiles: {TOKEN: KEY}",
            &held.replace("read_only", "none"),
            &["a file of its own needs a sandbox, and the mode is `none`"],
        );
        let keys = "`secretEnv` is a key of the adapters `cli` and `builtin:command.run`";
        let text = "adapter: 'builtin:shell', secretEnv: {TOKEN: KEY}".to_owned();
        let shell = format!(
            "schema: proofmark/tool@1\ntoolId: page.read\ndescription: {{summary: Read a page.}}\n\
             intent: {{actionTypes: [read]}}\nschemas: {{inputSchema: {{type: object, properties: \
             {{command: {{type: string}}}}, required: [command]}}}}\n\
             effects: {{reads: ['workspace:**'], writes: []}}\n{held}\nexecution: {{{text}}}\n"
        );
        assert_eq!(parse("t.yaml", &shell).unwrap_err()[0].message, keys);
    }
}
