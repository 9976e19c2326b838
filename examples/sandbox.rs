//! How long a sandboxed start takes, beside a plain one: `cargo run --release --example sandbox`.
//!
//! It also shows what a program that embeds the runtime has to do: call the helper's `main` first
//! of all, and name itself as the helper.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "an example measures and prints"
)]

use std::process::{ExitCode, Stdio};
use std::time::Instant;

use proofmark::runtime::sandbox::confined::Confined;
use proofmark::runtime::sandbox::host::Host;
use proofmark::runtime::sandbox::launch::Sandbox;
use proofmark::runtime::sandbox::order::Stdin;
use proofmark::runtime::sandbox::{Ground, child, plan};
use proofmark::tool::manifest;

const ROUNDS: usize = 200;

fn main() -> ExitCode {
    if let Some(code) = child::main() {
        return code;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure());
    ExitCode::SUCCESS
}

fn confined(host: &Host, network: &str) -> Confined {
    let text = format!(
        "schema: proofmark/tool@1\ntoolId: start.one\ndescription: {{summary: Start.}}\n\
         intent: {{actionTypes: [execute]}}\nschemas: {{inputSchema: {{type: object}}}}\n\
         effects: {{reads: [], writes: []}}\nsandbox: {{mode: workspace_write, \
         limits: {{maxMemoryMb: 256}}, network: {{egressPolicy: {network}}}}}\n\
         execution: {{adapter: cli, command: ['true']}}\n"
    );
    let descriptor = manifest::parse("start.yaml", &text).unwrap();
    let plan = plan(&descriptor, Ground::bare(host)).unwrap_or_else(|refusal| panic!("{refusal}"));
    plan.confined.unwrap().as_ref().clone()
}

async fn measure() {
    let host = Host::with(std::env::current_exe().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let kinds = [
        ("every mechanism, no network", confined(&host, "none")),
        ("every mechanism, with a proxy", confined(&host, "allowlist")),
        ("without a network of its own", confined(&host, "open")),
    ];
    let mut plain = Vec::new();
    let mut boxed = vec![Vec::new(); kinds.len()];
    // Side by side, so that whatever else the machine does falls on all of them.
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let mut wanted = tokio::process::Command::new("/usr/bin/true");
        wanted.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = wanted.env_clear().spawn().unwrap().wait_with_output().await.unwrap();
        assert!(output.status.success());
        plain.push(begun.elapsed());
        for ((_, confined), times) in kinds.iter().zip(&mut boxed) {
            let begun = Instant::now();
            let ordered = confined.order(&root, &["true".to_owned()], Stdin::Null).unwrap();
            let mut sandbox = Sandbox::start(&confined.helper, ordered.order, &[]).await.unwrap();
            sandbox.report().await.unwrap();
            assert!(sandbox.end().await);
            times.push(begun.elapsed());
        }
    }
    // The lower quartile beside the median says how busy the machine was.
    let median = |times: &mut Vec<std::time::Duration>| {
        times.sort();
        [2, 4].map(|part| times[times.len() / part].as_secs_f64() * 1e3)
    };
    let [plain, low] = median(&mut plain);
    println!("plain: {plain:.2} ms (median of {ROUNDS}; lower quartile {low:.2})");
    for ((name, confined), times) in kinds.iter().zip(&mut boxed) {
        let [time, quarter] = median(times);
        let names: Vec<&str> = confined.mechanisms.iter().map(|one| one.name()).collect();
        let (above, above_low) = (time - plain, quarter - low);
        println!("{name}: {time:.2} ms, {above:.2} above plain (quartiles: {above_low:.2})");
        println!("  in force: {}", names.join(", "));
    }
}
