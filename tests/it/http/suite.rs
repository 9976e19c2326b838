//! A suite whose tools are HTTP tools, run by the program.

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

#[test]
fn a_suite_calls_the_server_that_it_is_told_of() {
    let server = Server::start();
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
    write("suites/store/tools/item.yaml", TOOL);
    write(
        "suites/store/cases.yaml",
        "schema: proofmark/cases@1\ncases:\n  - id: item\n    prompt: What is item 7?\n    \
         script:\n      - reply: {calls: [{name: store.item, arguments: {id: 7}}]}\n      \
         - expect_request: {contains: [/items/7]}\n        reply: {text: Done.}\n    \
         expect:\n      calls: [{tool: store.item, outcome: succeeded}]\n",
    );
    let fixture = format!("store.test={}", server.address);
    crate::command::check(folder.path(), &["run", "--fixture", &fixture], 0, &["store"]);
    let seen = server.seen().pop().unwrap();
    assert_eq!(seen.target, "/items/7");
    assert!(seen.headers["authorization"].starts_with("Bearer pmk-canary-"), "{seen:?}");
    // A proxy that the environment names is not asked, and so not told of the credential.
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.current_dir(folder.path()).args(["run", "--fixture", &fixture]);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
        command.env(name, "http://127.0.0.1:1");
    }
    let said = command.env_remove("PROOFMARK_REQUIRE").output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
    assert_eq!(server.seen().len(), 2);
    // Without it the name leads nowhere, and a credential is sent nowhere in the open.
    crate::command::check(folder.path(), &["run"], 1, &["store"]);
    let wrong = ["run", "--fixture", "store.test"];
    crate::command::check(folder.path(), &wrong, 2, &["NAME=ADDRESS"]);
}
