//! A suite whose tools are HTTP tools, run by the program.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use proofmark::runtime::catalog::lint::lint;
use proofmark::runtime::sandbox::host::Host;
use proofmark::runtime::sandbox::{Ground, plan};
use proofmark::tool::http::Operation;
use proofmark::tool::manifest;
use serde_json::json;

use super::scene::Server;

const TOOL: &str = "\
schema: proofmark/tool@1
toolId: store.item
description: {summary: Return one item of the store.}
intent: {actionTypes: [search]}
schemas: {inputSchema: {type: object, properties: {id: {type: integer}}, required: [id]}}
effects: {reads: ['api:items'], writes: [], externalCalls: true}
credentials: {strategy: service_account, requiredSecrets: [STORE_KEY]}
sandbox: {mode: remote_api, network: {egressPolicy: allowlist, allowDomains: [store.test]}}
execution:
  adapter: http
  parser: json
  http:
    method: GET
    url: http://store.test/items/{id}
    headers: {Authorization: 'Bearer ${secret:STORE_KEY}'}
";

/// The example of the page is a tool, nothing holds it, and it makes the request that it seems to.
#[test]
fn the_example_of_the_page_is_a_tool() {
    let page = include_str!("../../../docs/http-tools.md");
    let example = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let tool = manifest::parse("example", example).unwrap_or_else(|e| panic!("{e:?}"));
    assert_eq!(lint(&tool), []);
    let operation = Operation::parse(tool.execution.http.as_ref().unwrap()).unwrap();
    let args = json!({"shelf": "a b", "item": 7, "tags": ["x", "y"]});
    let request = operation.request(&args).unwrap();
    let url = "https://api.store.example/v1/shelves/a%20b/orders?tag=x&tag=y";
    assert_eq!(
        (request.url().as_str(), request.body.unwrap().text.as_str()),
        (url, r#"{"item":7}"#)
    );
    assert!(plan(&tool, Ground::bare(&Host::default())).is_ok());
}

/// A suite with one HTTP tool at this address and one case that calls it.
fn suite(url: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "suites/store/suite.yaml",
        "schema: proofmark/suite@1\nname: store\ntools: [tools/]\ncases: [cases.yaml]\n\
         principal: {id: dev, scopes: [external_read]}\nproviders: [scripted]\n",
    );
    write("suites/store/tools/item.yaml", &TOOL.replace("http://store.test", url));
    write(
        "suites/store/cases.yaml",
        "schema: proofmark/cases@1\ncases:\n  - id: item\n    prompt: What is item 7?\n    \
         script:\n      - reply: {calls: [{name: store.item, arguments: {id: 7}}]}\n      \
         - expect_request: {contains: [/items/7]}\n        reply: {text: Done.}\n    \
         expect:\n      calls: [{tool: store.item, outcome: succeeded}]\n",
    );
    folder
}

/// Runs the suites of a folder with settings of the environment; the exit code.
fn run(folder: &Path, fixture: &str, settings: &[(&str, &str)]) -> Option<i32> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.current_dir(folder).args(["run", "--fixture", fixture]);
    command.envs(settings.iter().copied()).env_remove("PROOFMARK_REQUIRE");
    command.output().unwrap().status.code()
}

#[test]
fn a_suite_calls_the_server_that_it_is_told_of() {
    let (server, folder) = (Server::start(), suite("http://store.test"));
    let fixture = format!("store.test={}", server.address);
    crate::command::check(folder.path(), &["run", "--fixture", &fixture], 0, &["store"]);
    let seen = server.seen().pop().unwrap();
    assert_eq!(seen.target, "/items/7");
    assert!(seen.headers["authorization"].starts_with("Bearer pmk-canary-"), "{seen:?}");
    // A proxy that the environment names is not asked, and so not told of the credential.
    let proxies = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"];
    let settings = proxies.map(|name| (name, "http://127.0.0.1:1"));
    assert_eq!(run(folder.path(), &fixture, &settings), Some(0));
    assert_eq!(server.seen().len(), 2);
    // Without it the name leads nowhere, and a credential is sent nowhere in the open.
    crate::command::check(folder.path(), &["run"], 1, &["store"]);
    let wrong = ["run", "--fixture", "store.test"];
    crate::command::check(folder.path(), &wrong, 2, &["NAME=ADDRESS"]);
}

/// A server with a certificate that it signed itself, which ends with this value.
struct Encrypted {
    child: Child,
    address: SocketAddr,
    certificate: PathBuf,
    _folder: tempfile::TempDir,
}

impl Drop for Encrypted {
    fn drop(&mut self) {
        let (_killed, _reaped) = (self.child.kill(), self.child.wait());
    }
}

fn encrypted(name: &str) -> Option<Encrypted> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let openssl = |args: &str| {
        let mut command = Command::new("openssl");
        command.current_dir(folder.path()).args(args.split(' '));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut made = openssl(&format!(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj \
         /CN={name} -addext subjectAltName=DNS:{name} -addext basicConstraints=critical,CA:FALSE \
         -keyout key.pem -out own.pem"
    ));
    if !made.status().is_ok_and(|status| status.success()) {
        crate::support::skip("openssl", "no openssl makes a certificate");
        return None;
    }
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let port = address.port();
    let serve = format!("s_server -accept {port} -cert own.pem -key key.pem -www -quiet");
    let child = openssl(&serve).spawn().unwrap();
    let certificate = path("own.pem");
    let there = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        TcpStream::connect(address).is_ok()
    });
    assert!(there, "the server does not start");
    Some(Encrypted { child, address, certificate, _folder: folder })
}

#[test]
fn a_service_must_prove_its_name() {
    let Some(server) = encrypted("store.test") else { return };
    let certificate = server.certificate.display().to_string();
    let trusted = [("SSL_CERT_FILE", certificate.as_str()), ("SSL_CERT_DIR", "/nowhere")];
    let check = |name: &str, settings: &[(&str, &str)], expected: i32| {
        let folder = suite(&format!("https://{name}"));
        let text = std::fs::read_to_string(folder.path().join("suites/store/tools/item.yaml"));
        let text = text.unwrap().replace("[store.test]", &format!("[{name}]"));
        // What this server answers is a page.
        let text = text.replace("  parser: json\n", "");
        std::fs::write(folder.path().join("suites/store/tools/item.yaml"), text).unwrap();
        let cases = folder.path().join("suites/store/cases.yaml");
        let text = std::fs::read_to_string(&cases).unwrap();
        std::fs::write(&cases, text.replace("[/items/7]", "['Ciphers supported']")).unwrap();
        let fixture = format!("{name}={}", server.address);
        assert_eq!(run(folder.path(), &fixture, settings), Some(expected), "{name} {settings:?}");
    };
    check("store.test", &trusted, 0);
    check("other.test", &trusted, 1);
    check("store.test", &[], 1);
}

/// The value in a file is replaced by another while a session runs: the service does not take the
/// one that was read, and is asked once more with the one that is there.
#[test]
fn a_value_that_its_file_has_anew_is_used_in_a_session_that_read_the_old_one() {
    let server = Server::start();
    let folder = suite("http://store.test");
    let path = |name: &str| folder.path().join("suites/store").join(name);
    let edit = |name: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(path(name)).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(path(name), text.replace(from, to)).unwrap();
    };
    let key = |value: &str| {
        std::fs::write(path("key"), value).unwrap();
        std::fs::set_permissions(path("key"), std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    edit("tools/item.yaml", "/items/{id}", "/token/{id}");
    edit(
        "suite.yaml",
        "providers:",
        "credentials: {STORE_KEY: {file: key, refresh: {}}}\nproviders:",
    );
    edit("cases.yaml", "- expect_request: {contains: [/items/7]}\n        reply:", "- reply:");
    key("value-number-0");
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    let fixture = format!("store.test={}", server.address);
    command.current_dir(folder.path()).args(["chat", "store", "--case", "item"]);
    command.args(["--journal", "j.jsonl", "--fixture", &fixture]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("store: "), "{first}");
    key("value-number-7");
    child.stdin.take().unwrap().write_all(b"What is item 7?\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Done.\n");
    let given: Vec<String> =
        server.seen().into_iter().map(|seen| seen.headers["authorization"].clone()).collect();
    assert_eq!(given, ["Bearer value-number-0", "Bearer value-number-7"]);
    for name in ["j.jsonl", "j.texts.jsonl"] {
        let kept = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(!kept.contains("value-number"), "{name}: {kept}");
    }
}
