//! Commands in real containers, where an engine of them works here: what they may do, what is
//! recorded of it, and that nothing of them is left.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use proofmark::journal::Outcome;
use proofmark::journal::outcome::Fault;
use proofmark::runtime::sandbox::host::Host;
use proofmark::runtime::sandbox::{Ground, plan};
use serde_json::{Value, json};

use crate::boxed::{Left, call, tool};

const IMAGE: &str = "localhost/proofmark-test:1";
const BUSYBOX: &str = "/bin/busybox";

/// The engine with an image of one program in it; said aloud where there is none.
static HOST: LazyLock<Result<Host, String>> = LazyLock::new(|| {
    let host = Host::default();
    let words = host.engine().words().ok_or("no container engine works here")?.to_vec();
    if !Path::new(BUSYBOX).is_file() {
        return Err(format!("there is no {BUSYBOX} for an image"));
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let run = |words: &[String]| {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let root = folder.path().join("root");
    let layout = format!(
        "mkdir -p {0}/bin {0}/proc {0}/sys {0}/dev {0}/tmp {0}/etc {0}/workspace && cp {BUSYBOX} \
         {0}/bin/busybox && for name in sh ls cat id touch sleep env ip wc mkdir head; do ln -s \
         busybox {0}/bin/$name; done && tar -C {0} -cf {0}.tar .",
        root.display()
    );
    let own = |more: &[&str]| {
        words.iter().cloned().chain(more.iter().map(|word| (*word).to_owned())).collect::<Vec<_>>()
    };
    if !run(&["sh".to_owned(), "-c".to_owned(), layout]) {
        return Err("no image can be made".to_owned());
    }
    let tar = format!("{}.tar", root.display());
    if !run(&own(&["import", &tar, IMAGE])) {
        return Err("the engine takes no image".to_owned());
    }
    // It answers, and yet it may not be able to start anything here.
    if !run(&own(&[
        "run",
        "--rm",
        "--network=none",
        "--ulimit=nofile=99:99",
        "--ulimit=nproc=99:99",
        IMAGE,
        "/bin/id",
    ])) {
        return Err("the engine starts nothing here".to_owned());
    }
    Ok(host)
});

fn host() -> Option<&'static Host> {
    match &*HOST {
        Ok(host) => Some(host),
        Err(why) => {
            crate::support::skip("container", why);
            None
        }
    }
}

/// A command line of the image's shell, with these keys beside the image.
fn sections(script: &str, sandbox: &str, execution: &str) -> String {
    format!(
        "sandbox: {{mode: container, image: '{IMAGE}'{sandbox}}}\n\
         execution: {{adapter: cli, command: [/bin/sh, -c, '{script}']{execution}}}\n"
    )
}

fn ran(host: &Host, script: &str, sandbox: &str) -> Left {
    call(host, &sections(script, sandbox, ""), json!({}))
}

fn fault(left: &Left) -> &Fault {
    match &left.outcome {
        Outcome::Failed { fault } => fault,
        other => panic!("{other:?}: {}", left.transcript),
    }
}

/// What containers there are.
fn there() -> String {
    let words = host().unwrap().engine().words().unwrap();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["ps", "--all", "--format", "{{.Names}}"]);
    let output = command.output().unwrap();
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_command_sees_its_image_and_its_workspace_and_what_it_wrote_is_seen() {
    let Some(host) = host() else { return };
    let left = ran(host, "cat own.txt && echo more > out.txt && ls /", "");
    assert_eq!(left.outcome, Outcome::Succeeded, "{}", left.transcript);
    assert!(left.transcript.contains("what is written here"), "{}", left.transcript);
    assert!(!left.transcript.contains("home"), "{}", left.transcript);
    let prepared = left.prepared.unwrap();
    let told = (prepared.mode.as_deref(), prepared.enforcement.as_deref());
    assert_eq!(told, (Some("container"), Some("container")));
    assert!(prepared.mechanisms.iter().all(|one| one.starts_with("engine_")), "{prepared:?}");
    let effects = left.effects.unwrap();
    assert_eq!(
        (effects.method.as_str(), effects.writes),
        ("digests", vec!["workspace:out.txt".to_owned()])
    );
}

/// Each attempt ends as it should, and says this.
#[test]
fn what_is_not_asked_for_is_not_there() {
    let Some(host) = host() else { return };
    let check = |script: &str, sandbox: &str, expected: &str| {
        let left = ran(host, &format!("({script}) 2>&1 || echo no"), sandbox);
        assert!(left.transcript.contains(expected), "{script}: {}", left.transcript);
    };
    check("touch /bin/own", "", "Read-only file system");
    check("touch /tmp/own && echo scratch", "", "scratch");
    check("ip link | wc -l", "", "2");
    check("touch a.txt", ", filesystem: {writeRoots: [workspace/out]}", "No such file");
    check("env | wc -l", "", "4");
}

#[test]
fn what_is_blocked_and_what_is_written_follow_the_section() {
    let Some(host) = host() else { return };
    let blocked = ran(host, "wc -c < key.pem", ", filesystem: {blockedPaths: [key.pem, secrets]}");
    assert!(!blocked.transcript.contains("a key"), "{}", blocked.transcript);
    let taken = ran(host, "mkdir secrets; echo $?", ", filesystem: {blockedPaths: [secrets]}");
    assert!(taken.transcript.contains("1"), "{}", taken.transcript);
    let open = ran(host, "cat key.pem", "");
    assert!(open.transcript.contains("a key"), "{}", open.transcript);
}

#[test]
fn a_command_reads_its_input_and_its_failures_are_its_own() {
    let Some(host) = host() else { return };
    let fed = sections("cat", "", ", stdin: text");
    let left = call(host, &fed, json!({"text": "what it reads"}));
    assert!(left.transcript.contains("what it reads"), "{}", left.transcript);
    let left = ran(host, "exit 3", "");
    assert_eq!(
        (fault(&left).code.as_str(), fault(&left).message.as_str()),
        ("exit_status", "exit status: 3")
    );
    let gone = sections("x", "", "").replace("/bin/sh", "/bin/nothing");
    assert_eq!(fault(&call(host, &gone, json!({}))).code, "spawn");
}

#[test]
fn nothing_of_a_container_is_left_when_its_time_is_up() {
    let Some(host) = host() else { return };
    let begun = Instant::now();
    let left = ran(host, "sleep 47 & sleep 47", ", limits: {timeoutMs: 1500}");
    assert_eq!(fault(&left).code, "timeout", "{}", left.transcript);
    assert!(fault(&left).message.ends_with("its container was removed"), "{}", left.transcript);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let sleeping = Command::new("pgrep").args(["-f", "sleep 47"]).output().unwrap();
    assert!(sleeping.stdout.is_empty(), "{sleeping:?}");
    let many = ran(
        host,
        "for i in 1 2 3 4 5 6 7 8 9; do sleep 2 & done; echo every-one",
        ", limits: {maxProcesses: 4}",
    );
    assert!(!many.transcript.contains("every-one"), "{}", many.transcript);
    // Those of other tests go away by themselves.
    let gone = || !there().contains("proofmark-");
    let soon = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        gone()
    });
    assert!(soon, "{}", there());
}

#[test]
fn a_secret_is_in_the_container_and_on_no_command_line() {
    let Some(host) = host() else { return };
    let execution = ", secretEnv: {TOKEN: KEY}";
    let text = sections("echo ${{#TOKEN}} $TOKEN", "", execution);
    let text =
        format!("credentials: {{strategy: service_account, requiredSecrets: [KEY]}}\n{text}");
    let left = crate::boxed::call_with(host, &text, json!({}), &[("KEY", "a-very-own-value")]);
    assert!(left.transcript.contains("16 [redacted]"), "{}", left.transcript);
}

#[test]
fn what_no_engine_holds_is_refused_before_anything_starts() {
    let refusal = |sandbox: &str| -> String {
        let text = format!(
            "sandbox: {{mode: container{sandbox}}}\nexecution: {{adapter: cli, command: [ls]}}\n"
        );
        let host = host().cloned().unwrap_or_default();
        plan(&tool(&text), Ground::bare(&host)).unwrap_err().to_string()
    };
    for (sandbox, expected) in [
        ("", "needs the name of an image"),
        (", image: '--privileged'", "it is no name"),
        (", image: x, network: {egressPolicy: allowlist}", "names are not looked at"),
        (", image: x, filesystem: {readRoots: [/usr]}", "shows its image and the workspace"),
        (", image: x, filesystem: {writeRoots: [/usr]}", "writes the workspace"),
        (", image: x, filesystem: {writeRoots: [workspace/../..]}", "writes the workspace"),
        (", image: x, filesystem: {cwd: ../x}", "leads out of the workspace"),
    ] {
        assert!(refusal(sandbox).contains(expected), "{sandbox}: {}", refusal(sandbox));
    }
    if host().is_some() {
        let gone = refusal(", image: 'localhost/no-such-image:9'");
        assert!(gone.contains("is not here; nothing is fetched"), "{gone}");
    }
}

#[test]
fn where_no_engine_works_nothing_is_started() {
    // Another process, whose setting names an engine that is none.
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "schema: proofmark/tool@1\ntoolId: box.list\ndescription: {{summary: List it.}}\n\
         intent: {{actionTypes: [read]}}\nschemas: {{inputSchema: {{type: object}}}}\n\
         effects: {{reads: [], writes: []}}\nsandbox: {{mode: container, image: '{IMAGE}'}}\n\
         execution: {{adapter: cli, command: [ls]}}\n"
    );
    std::fs::create_dir_all(folder.path().join("suites/s/tools")).unwrap();
    std::fs::write(folder.path().join("suites/s/tools/t.yaml"), text).unwrap();
    let suite = "schema: proofmark/suite@1\nname: s\ntools: [tools/]\n";
    std::fs::write(folder.path().join("suites/s/suite.yaml"), suite).unwrap();
    for engine in ["/bin/false", "no-such-engine --option", "/bin/sleep 99"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
        command.current_dir(folder.path()).args(["tools", "s", "--format", "json"]);
        let output = command.env("PROOFMARK_CONTAINER", engine).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let why = answer["tools"][0]["reason"].as_str().unwrap();
        assert!(why.contains("no container engine that works"), "{engine}: {why}");
    }
}
