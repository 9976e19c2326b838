//! Real tool lists of 56 MCP servers: nothing is lost, everything reads back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use proofmark::eval::scaffold::{Origin, Scaffold, scaffold};
use proofmark::runtime::catalog::Registry;
use proofmark::runtime::catalog::source::snapshot::{self, Snapshot};
use proofmark::runtime::catalog::source::{Imported, ServerName, Severity, mcp, openai};
use proofmark::tool::manifest;
use serde_json::{Value, json};

use crate::support;

/// The saved listings by file name, unpacked; `None` where they, or `gzip`, are absent.
pub fn listings() -> Option<BTreeMap<String, String>> {
    let folder = support::data()?.join("mcp-tools");
    let mut texts = BTreeMap::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".json.gz") {
            texts.insert(name.to_owned(), unpack(&path)?);
        }
    }
    assert_eq!(texts.len(), 56, "listings in {}", folder.display());
    Some(texts)
}

fn unpack(path: &Path) -> Option<String> {
    match Command::new("gzip").arg("-dc").arg(path).output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", path.display());
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) => {
            support::skip("data", &format!("gzip cannot be run: {error}"));
            None
        }
    }
}

fn imported(name: &str, text: &str) -> (Snapshot, Imported) {
    let saved = snapshot::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(saved.notes, Vec::<String>::new(), "{name}");
    let server = ServerName::sanitized(name.split('@').next().unwrap());
    let imported = mcp::import(&server, &saved.snapshot.tools);
    (saved.snapshot, imported)
}

/// Every tool is a descriptor or a problem, by name; descriptors stand in the order of the list.
fn check_nothing_lost(name: &str, snapshot: &Snapshot, imported: &Imported) {
    let lost = imported.count(Severity::Lost);
    assert_eq!(imported.descriptors.len() + lost, snapshot.tools.len(), "{name}");
    let raw: Vec<&str> = snapshot.tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let kept: Vec<&str> =
        imported.descriptors.iter().filter_map(|d| d.canonical_name.as_deref()).collect();
    assert_eq!(raw, kept, "{name}");
    for (tool, descriptor) in snapshot.tools.iter().zip(&imported.descriptors) {
        let foreign = &descriptor.provenance.foreign;
        let schemas = &descriptor.schemas;
        let added = |key: &str| foreign.get(key) == tool.get(key);
        for (key, value) in tool.as_object().unwrap() {
            let found = match key.as_str() {
                "name" => true,
                "description" => value.as_str() == Some(&descriptor.description.summary),
                "inputSchema" => {
                    let mut typed = value.clone();
                    typed["type"] = json!("object");
                    schemas.input_schema == typed || added(key)
                }
                "outputSchema" => schemas.output_schema.as_ref() == Some(value) || added(key),
                _ => added(key),
            };
            assert!(found, "{name}: {}: {key}", descriptor.tool_id);
        }
    }
}

fn check_files(name: &str, scaffold: &Scaffold, imported: &Imported) {
    let by_path: Vec<(&PathBuf, &String)> = scaffold
        .files
        .iter()
        .filter(|(path, _)| path.parent().unwrap().ends_with("tools"))
        .collect();
    assert_eq!(by_path.len(), imported.descriptors.len(), "{name}");
    let mut read = BTreeMap::new();
    for (path, text) in by_path {
        let shown = path.display().to_string();
        let descriptor = manifest::parse(&shown, text);
        let descriptor = descriptor.unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
        read.insert(descriptor.tool_id.clone(), descriptor);
    }
    for descriptor in &imported.descriptors {
        assert_eq!(read.get(&descriptor.tool_id), Some(descriptor), "{name}");
    }
}

#[test]
fn every_real_tool_is_imported_and_reads_back() {
    let Some(listings) = listings() else { return };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all = Vec::new();
    for (name, text) in &listings {
        let (snapshot, imported) = imported(name, text);
        check_nothing_lost(name, &snapshot, &imported);
        *counts.entry("tools").or_default() += imported.descriptors.len();
        for severity in [Severity::Noted, Severity::Repaired, Severity::Unusable, Severity::Lost] {
            *counts.entry(severity.name()).or_default() += imported.count(severity);
        }
        let origin = Origin { found: name.clone(), snapshot: snapshot.clone() };
        let scaffold = scaffold(name, &origin, &imported);
        check_files(name, &scaffold, &imported);
        let written = snapshot.to_text();
        assert_eq!(snapshot::parse(&written).unwrap().snapshot, snapshot, "{name}");
        all.extend(imported.descriptors);
    }
    let registry = Registry::new(all).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(registry.len(), 2_114, "every schema compiles, and no two ids are equal");
    let expected =
        [("lost", 0), ("noted", 117), ("repaired", 9), ("tools", 2_114), ("unusable", 0)];
    assert_eq!(counts, BTreeMap::from(expected));
}

#[test]
fn the_same_tools_as_a_list_for_a_model() {
    let Some(listings) = listings() else { return };
    let mut count = 0;
    for (name, text) in &listings {
        let (snapshot, from_server) = imported(name, text);
        let function = |tool: &Value| {
            let (name, schema) = (&tool["name"], &tool["inputSchema"]);
            let description = &tool["description"];
            let inner = json!({"name": name, "description": description, "parameters": schema});
            json!({"type": "function", "function": inner})
        };
        let list: Vec<Value> = snapshot.tools.iter().map(function).collect();
        let from_list = openai::import(None, &json!({"tools": list})).unwrap();
        for (one, two) in from_server.descriptors.iter().zip(&from_list.descriptors) {
            assert_eq!(one.schemas.input_schema, two.schemas.input_schema, "{name}");
            assert_eq!(one.description, two.description, "{name}");
            assert_eq!(one.canonical_name, two.canonical_name, "{name}");
        }
        count += from_list.descriptors.len();
        let ids: BTreeSet<_> = from_list.descriptors.iter().map(|d| &d.tool_id).collect();
        assert_eq!(ids.len(), snapshot.tools.len(), "{name}");
    }
    assert_eq!(count, 2_114);
}
