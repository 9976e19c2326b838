//! The protocol's own conformance suite against the client: every scenario for clients is played,
//! and each has to pass or to be known not to, with a reason.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::skip;

/// Scenarios that do not pass, each with the reason. One that passes must not stand here.
const KNOWN: &[(&str, &str)] = &[
    ("auth/metadata-default", OAUTH),
    ("auth/metadata-var1", OAUTH),
    ("auth/metadata-var2", OAUTH),
    ("auth/metadata-var3", OAUTH),
    ("auth/basic-cimd", OAUTH),
    ("auth/scope-from-www-authenticate", OAUTH),
    ("auth/scope-from-scopes-supported", OAUTH),
    ("auth/scope-omitted-when-undefined", OAUTH),
    ("auth/scope-step-up", OAUTH),
    ("auth/scope-retry-limit", OAUTH),
    ("auth/token-endpoint-auth-basic", OAUTH),
    ("auth/token-endpoint-auth-post", OAUTH),
    ("auth/token-endpoint-auth-none", OAUTH),
    ("auth/pre-registration", OAUTH),
    ("auth/2025-03-26-oauth-metadata-backcompat", OAUTH),
    ("auth/2025-03-26-oauth-endpoint-fallback", OAUTH),
    ("auth/offline-access-scope", OAUTH),
    ("auth/offline-access-not-supported", OAUTH),
    ("auth/client-credentials-jwt", OAUTH),
    ("auth/client-credentials-basic", OAUTH),
    ("auth/cross-app-access-complete-flow", OAUTH),
];

const OAUTH: &str = "no authorization is negotiated: a server gets the credential it is bound to, \
                     or the call says that it wants one";

/// The folder with the suite, or a word that it is not there.
fn suite() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let suite = root.join("tests/mcp-conformance/.suite");
    if suite.join("installed").exists() {
        return Some(suite.join("node_modules/.bin"));
    }
    skip("node22", "tests/mcp-conformance/install.sh was not run");
    None
}

/// The client that the suite drives: the example, built beside the program.
fn client() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_proofmark"));
    let client = program.with_file_name("examples").join("mcp_client");
    assert!(client.exists(), "{} is not built: `cargo build --examples`", client.display());
    client
}

fn run(bin: &Path, args: &[&str]) -> (bool, String) {
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let out = Command::new(bin.join("conformance")).args(args).env("PATH", path).output().unwrap();
    let text = [out.stdout, out.stderr].concat();
    (out.status.success(), String::from_utf8_lossy(&text).into_owned())
}

fn scenarios(bin: &Path) -> Vec<String> {
    let (_, listed) = run(bin, &["list", "--client"]);
    let line = |line: &str| Some(line.trim().strip_prefix("- ")?.split(' ').next()?.to_owned());
    listed.lines().filter_map(line).collect()
}

#[test]
fn every_client_scenario_passes_or_is_known_not_to() {
    let Some(bin) = suite() else { return };
    let client = client();
    let scenarios = scenarios(&bin);
    let plain: Vec<&String> = scenarios.iter().filter(|name| !name.starts_with("auth/")).collect();
    let expected = ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"];
    assert_eq!(plain, expected, "the suite has other scenarios than it had");
    let unknown: Vec<_> =
        KNOWN.iter().filter(|(name, _)| !scenarios.iter().any(|one| one == name)).collect();
    assert!(unknown.is_empty(), "the suite does not have {unknown:?}");
    for scenario in &scenarios {
        let known = KNOWN.iter().find(|(name, _)| name == scenario);
        let command = client.display().to_string();
        let args = ["client", "--scenario", scenario, "--command", &command];
        let (passed, text) = run(&bin, &args);
        match (passed, known) {
            (true, None) | (false, Some(_)) => {}
            (true, Some((_, why))) => panic!("{scenario} passes now; it was known for: {why}"),
            (false, None) => panic!("{scenario} fails:\n{text}"),
        }
        assert!(!text.contains("panicked"), "{scenario}:\n{text}");
    }
}
