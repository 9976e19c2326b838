//! Published verdicts of other people's benchmarks come out again under their own rules, from the
//! outside data; what is altered is noticed.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

use crate::support::data;

/// The answer of a comparison, what was said beside it, and the exit code.
fn replicate(args: &[&str], data: &Path) -> (Value, String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.arg("replicate").args(args).arg("--data").arg(data).args(["--format", "json"]);
    let ended = command.output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    (serde_json::from_slice(&ended.stdout).unwrap_or(Value::Null), said, ended.status.code())
}

#[test]
fn every_published_verdict_but_one_comes_out_again() {
    let Some(data) = data() else { return };
    let table = [
        ("bfcl", "bfcl-2024-08", 59_770, 770),
        ("bfcl-v4", "bfcl-v4", 21_090, 0),
        ("asb", "asb", 53_489, 0),
        ("tau", "tau-bench", 4, 0),
        ("tau2", "tau2-bench", 579, 0),
        ("mcpeval", "mcpeval", 1_488, 0),
        ("livemcpbench", "livemcpbench", 21, 0),
    ];
    for (set, profile, items, cells) in table {
        let (answer, said, code) = replicate(&[set], &data);
        let expected = json!({
            "set": set, "profile": profile, "items": items, "equal": items, "different": 0,
            "cells": {"items": cells, "equal": cells}, "differences": [],
        });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&answer[key], value, "{set} {key}: {said}");
        }
        assert_eq!(code, Some(0), "{set}");
    }
    // 154 of 508 runs passed, which is 0.30315: the publisher rounded up.
    let (answer, _, code) = replicate(&["mcpmark"], &data);
    assert_eq!((answer["items"].as_u64(), answer["equal"].as_u64()), (Some(492), Some(491)));
    let known = json!([{
        "id": "overall pass@1 avg", "model": "gpt-5-mini-high", "published": "0.3032", "ours": "0.3031",
    }]);
    assert_eq!((&answer["differences"], code), (&known, Some(1)));
}

/// The lines of a file that gzip compressed.
fn unpacked(path: &Path) -> String {
    let mut text = String::new();
    MultiGzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn an_altered_output_and_an_altered_verdict_are_noticed() {
    let Some(data) = data() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replay.jsonl");
    let text = unpacked(&data.join("bfcl/replay_2024-08-11.jsonl.gz"));
    let mut lines: Vec<Value> = text
        .lines()
        .filter(|line| line.contains(r#""category":"simple""#) && line.contains(r#"_valid":true"#))
        .take(50)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    lines[3]["decoded"] = json!([{"no_such_function": {}}]);
    lines[7]["published_valid"] = json!(false);
    lines[7]["published_error_type"] = json!("value_error:string");
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(&path, text.join("\n")).unwrap();
    let named = path.display().to_string();
    let (answer, _, code) = replicate(&["bfcl", "--replay", &named], &data);
    assert_eq!((answer["items"].as_u64(), answer["different"].as_u64()), (Some(50), Some(2)));
    let pair = |at: usize| {
        let it = &answer["differences"][at];
        (it["published"].as_str().unwrap(), it["ours"].as_str().unwrap())
    };
    assert_eq!(pair(0), ("valid", "simple_function_checker:wrong_func_name"));
    assert_eq!(pair(1), ("value_error:string", "valid"));
    assert_eq!(code, Some(1));

    fs::write(&path, format!("{}\n{{\"id\": 3}}\n", text[0])).unwrap();
    let (_, said, code) = replicate(&["bfcl", "--replay", &named], &data);
    assert!(said.contains("replay.jsonl:2:") && said.contains("expected a string"), "{said}");
    assert_eq!(code, Some(3));
}

#[test]
fn mistakes_of_usage_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let table: [(&[&str], &str); 3] = [
        (&["bfcl-v3"], "there is no such set; did you mean `bfcl"),
        (&["asb"], "cannot be read: entity not found; `--data` names the folder of outside data"),
        (&["asb", "tau", "--replay", "x"], "one file of recorded outputs belongs to one set"),
    ];
    for (args, expected) in table {
        let (_, said, code) = replicate(args, folder.path());
        assert!(said.contains(expected), "{args:?}: {said}");
        assert_eq!(code, Some(3), "{args:?}");
    }
    let (answer, ..) = replicate(&[], folder.path());
    assert_eq!(answer["sets"].as_array().unwrap().len(), 8);
}
