//! The file format of a descriptor: `tools/*.yaml`, camelCase keys as in seed B section 6.

use super::descriptor::{Descriptor, FORMAT, OutputExposure, SHELL};
use super::handed;
use super::http;
use super::schema::CompiledSchema;
use super::sections::OutputParser;
use super::strict::{Format, LazyFormat};
use super::template::Template;
use crate::base::document::Document;
use crate::base::problem::Problem;

/// The descriptor format.
pub static DESCRIPTOR: LazyFormat = LazyFormat::new(|| Format::of::<Descriptor>(FORMAT));

/// Reads one manifest: strict keys, defaults filled in, version computed.
///
/// # Errors
/// All problems of the file at once.
pub fn parse(file: &str, text: &str) -> Result<Descriptor, Vec<Problem>> {
    let document = Document::parse(file, text).map_err(|problem| vec![problem])?;
    let mut descriptor: Descriptor = DESCRIPTOR.get().decode(&document)?;
    let mut problems = Vec::new();
    check_schemas(&document, &descriptor, &mut problems);
    check_effects(&document, &descriptor, &mut problems);
    check_exposure(&document, &descriptor, &mut problems);
    check_command(&document, &descriptor, &mut problems);
    let wrong = http::check(&descriptor).into_iter();
    problems.extend(wrong.map(|wrong| document.problem(&wrong.at, wrong.message)));
    check_shell(&document, &descriptor, &mut problems);
    let wrong = handed::check(&descriptor).into_iter();
    problems.extend(wrong.map(|(at, message)| document.problem(&at, message)));
    let version = descriptor.content_digest();
    if descriptor.version.is_some_and(|stated| stated != version) {
        let problem = document.problem("/version", "the version is the digest of the content");
        problems.push(problem.help(format!("remove the key or write {version}")));
    }
    if !problems.is_empty() {
        problems.sort();
        return Err(problems);
    }
    descriptor.version = Some(version);
    Ok(descriptor)
}

fn check_schemas(document: &Document, descriptor: &Descriptor, problems: &mut Vec<Problem>) {
    let schemas = &descriptor.schemas;
    let all = [
        ("inputSchema", Some(&schemas.input_schema)),
        ("outputSchema", schemas.output_schema.as_ref()),
        ("errorSchema", schemas.error_schema.as_ref()),
    ];
    for (name, schema) in all {
        let Some(schema) = schema else { continue };
        if let Err(problem) = CompiledSchema::compile(schema) {
            let at = format!("/schemas/{name}{}", problem.path);
            problems.push(document.problem(&at, problem.to_string()));
        }
    }
    if schemas.input_schema.get("type") != Some(&"object".into()) {
        let problem = document.problem("/schemas/inputSchema", "arguments are always an object");
        problems.push(problem.help("write `type: object`"));
    }
    let Ok(input) = CompiledSchema::compile(&schemas.input_schema) else { return };
    for (index, example) in descriptor.description.examples.iter().enumerate() {
        let args = serde_json::Value::Object(example.expected_args.clone());
        for error in input.errors(&args) {
            let at = format!("/description/examples/{index}/expectedArgs{}", error.path);
            let message = format!("the example fails the input schema: {}", error.message);
            problems.push(document.problem(&at, message));
        }
    }
}

/// Seed B invariants 13 and 14.
fn check_effects(document: &Document, descriptor: &Descriptor, problems: &mut Vec<Problem>) {
    let effects = &descriptor.effects;
    if effects.dry_run_supported && descriptor.dry_run_argument().is_none() {
        let message = "dry runs are declared, but no parameter asks for one";
        let problem = document.problem("/effects/dryRunSupported", message);
        problems.push(problem.help("add a boolean parameter `dry_run`"));
    }
}

fn check_exposure(document: &Document, descriptor: &Descriptor, problems: &mut Vec<Problem>) {
    let policy = &descriptor.context_policy;
    if policy.expose_output_to_model == OutputExposure::Structured
        && descriptor.schemas.output_schema.is_none()
    {
        let at = "/contextPolicy/exposeOutputToModel";
        let problem = document.problem(at, "structured output needs an output schema");
        problems.push(problem.help("add `schemas.outputSchema` or write `preview`"));
    }
}

/// A template names arguments that there are, and only a command line tool has its keys.
fn check_command(document: &Document, descriptor: &Descriptor, problems: &mut Vec<Problem>) {
    let execution = &descriptor.execution;
    if execution.adapter != CLI {
        let is_http = execution.adapter == http::ADAPTER;
        let parser = execution.parser != OutputParser::Text && !is_http;
        let alone = format!("the adapter `{CLI}` alone");
        let both = format!("the adapters `{CLI}` and `{}`", http::ADAPTER);
        let keys = [("stdin", execution.stdin.is_some(), alone), ("parser", parser, both)];
        for (key, _, whose) in keys.into_iter().filter(|(_, is_there, _)| *is_there) {
            let message = format!("`{key}` is a key of {whose}");
            problems.push(document.problem(&format!("/execution/{key}"), message));
        }
        return;
    }
    let at = "/execution/command";
    let template = match Template::parse(&execution.command) {
        Ok(template) => template,
        Err(error) => return problems.push(document.problem(at, error.to_string())),
    };
    let properties = &descriptor.schemas.input_schema["properties"];
    let names = template.names().map(|name| (at, name));
    let stdin = execution.stdin.iter().map(|name| ("/execution/stdin", name.as_str()));
    for (at, name) in names.chain(stdin) {
        if properties.get(name).is_none() {
            let message = format!("the input schema has no property `{name}`");
            problems.push(document.problem(at, message));
        }
    }
}

/// A command line is a text that must be given, and a shell is given no other.
fn check_shell(document: &Document, descriptor: &Descriptor, problems: &mut Vec<Problem>) {
    let Some(name) = descriptor.shell_line() else { return };
    let schema = &descriptor.schemas.input_schema;
    let text = schema["properties"][name]["type"] == "string";
    let required = schema["required"].as_array().is_some_and(|names| names.contains(&name.into()));
    if !(text && required) {
        let at = match descriptor.permissions.shell_line {
            Some(_) => "/permissions/shellLine",
            None => "/schemas/inputSchema",
        };
        let message = format!("a command line needs a required property `{name}` of type string");
        problems.push(document.problem(at, message));
    }
    if descriptor.execution.adapter == SHELL && !descriptor.execution.command.is_empty() {
        let message = "a shell runs the line it is given and no fixed command";
        problems.push(document.problem("/execution/command", message));
    }
}

/// The adapter whose command is a template.
const CLI: &str = "cli";

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: &str = "\
schema: proofmark/tool@1
toolId: file.read
description: {summary: Return the text of one file.}
intent: {actionTypes: [read]}
schemas: {inputSchema: {type: object, properties: {path: {type: string}}, required: [path]}}
effects: {reads: ['workspace:**'], writes: []}
";

    fn check(text: &str, expected: &[&str]) {
        let problems = parse("t.yaml", text).map(|_| ()).err().unwrap_or_default();
        let found: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_short_manifest_is_enough_and_the_version_follows_the_content() {
        let one = parse("t.yaml", SHORT).unwrap();
        let two = parse("t.yaml", &SHORT.replace("one file", "a file")).unwrap();
        assert_ne!(one.version, two.version);
        assert_eq!(one.version, Some(one.content_digest()));
        let full = serde_json::to_string(&one).unwrap();
        assert_eq!(parse("t.json", &full).unwrap(), one, "the long form reads back the same");
        let staged = SHORT.to_owned() + "lifecycle: {status: enabled}\n";
        assert_eq!(parse("t.yaml", &staged).unwrap().version, one.version);
    }

    #[test]
    fn all_problems_at_once_with_places_and_names() {
        let text = SHORT
            .replace("{summary:", "{sumary:")
            .replace("[read]", "[raed]")
            .replace("writes: []", "writes: [nowhere], zzz: 1");
        check(
            &text,
            &[
                "t.yaml:3:14: missing required key `summary`",
                "t.yaml:3:15: unknown key `sumary`; did you mean `summary`?",
                "t.yaml:4:24: \"raed\" is not one of \"read\", \"search\", \"inspect\", \"compute\", \
             \"transform\", \"generate\", \"write\", \"patch\", \"execute\", \"deploy\", \
             \"external_send\", \"purchase\", \"delete\", \"admin\", \"auth\", \"memory_read\", \
             \"memory_write\", \"subagent_delegate\"; did you mean `read`?",
                "t.yaml:6:45: \"nowhere\" does not match \"^[a-z][a-z_]*:.+$\"",
                "t.yaml:6:55: unknown key `zzz`; known here: deletes, dryRunSupported, \
             externalCalls, idempotent, mutatesState, reads, reversible, sendsUserData, writes",
            ],
        );
    }

    #[test]
    fn a_command_line_names_arguments_that_there_are() {
        let cli = |execution: &str| SHORT.to_owned() + "execution: " + execution + "\n";
        check(&cli("{adapter: cli, command: [cat, '{path}'], stdin: path, parser: json}"), &[]);
        check(
            &cli("{adapter: cli, command: [cat, '{paht}'], stdin: text}"),
            &[
                "t.yaml:7:36: the input schema has no property `paht`",
                "t.yaml:7:60: the input schema has no property `text`",
            ],
        );
        check(&cli("{adapter: cli}"), &["t.yaml:7:12: there is no program"]);
        check(
            &cli("{adapter: cli, command: [cat, '{path']}"),
            &["t.yaml:7:36: piece 1 has a brace that is not closed, or no name in it"],
        );
        check(
            &cli("{adapter: 'builtin:command.run', command: [cat], parser: jsonl}"),
            &["t.yaml:7:69: `parser` is a key of the adapters `cli` and `http`"],
        );
    }

    #[test]
    fn meaning_is_checked_after_shape() {
        check(
            &SHORT.replace("type: object, properties", "type: objekt, properties"),
            &[
                "t.yaml:5:24: arguments are always an object; write `type: object`",
                "t.yaml:5:31: unusable schema at `/type`: expected one of \"array\", \"boolean\", \
             \"integer\", \"null\", \"number\", \"object\", \"string\"",
            ],
        );
        let wrong = SHORT.to_owned()
            + "version: sha256:0000000000000000000000000000000000000000000000000000000000000000\n";
        let problems = parse("t.yaml", &wrong).unwrap_err();
        assert!(problems[0].to_string().starts_with("t.yaml:7:10: the version is the digest"));
    }
}
