//! `prompts.csv`: flat golden and negative prompts, easy to edit in a spreadsheet.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::case::{Case, Expectation, ExpectedCall, Kind, is_frozen};
use crate::base::digest::Hasher;
use crate::base::problem::{Position, Problem};
use crate::runtime::catalog::Registry;
use crate::tool::id::ToolId;
use crate::tool::matcher::{Matcher, Matchers};

/// The header, in this order.
pub const HEADER: [&str; 7] = ["id", "kind", "prompt", "tools", "args", "tags", "because"];

/// Reads the prompts of a suite and checks every tool and argument name.
///
/// # Errors
/// All problems of the file, by row and column.
pub fn parse(
    file: &str,
    text: &str,
    suite: &str,
    registry: &Registry,
) -> Result<Vec<Case>, Vec<Problem>> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let header: Vec<String> = match reader.headers() {
        Ok(header) => header.iter().map(|name| name.trim().to_owned()).collect(),
        Err(error) => return Err(vec![csv_problem(file, &error)]),
    };
    if header != HEADER {
        let message = format!("the header is {}", header.join(","));
        let problem = Problem::new(file, Position::new(1, 1), message);
        return Err(vec![problem.help(format!("write {}", HEADER.join(",")))]);
    }
    let (mut cases, mut problems) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                problems.push(csv_problem(file, &error));
                continue;
            }
        };
        let line = record.position().map_or(0, |p| usize::try_from(p.line()).unwrap_or(0));
        let mut row = Row { file, line, suite, registry, fields: &record, problems: Vec::new() };
        let case = row.case();
        if row.problems.is_empty() {
            cases.extend(case);
        }
        problems.append(&mut row.problems);
    }
    if problems.is_empty() { Ok(cases) } else { Err(problems) }
}

fn csv_problem(file: &str, error: &csv::Error) -> Problem {
    let line = error.position().map_or(0, |p| usize::try_from(p.line()).unwrap_or(0));
    let message = match error.kind() {
        csv::ErrorKind::Utf8 { .. } => "not UTF-8".to_owned(),
        _ => error.to_string(),
    };
    Problem::new(file, Position::new(line, 1), message)
}

struct Row<'a> {
    file: &'a str,
    line: usize,
    suite: &'a str,
    registry: &'a Registry,
    fields: &'a csv::StringRecord,
    problems: Vec<Problem>,
}

impl Row<'_> {
    fn field(&self, name: &str) -> &str {
        let index = HEADER.iter().position(|known| *known == name);
        index.and_then(|index| self.fields.get(index)).unwrap_or_default().trim()
    }

    /// A problem in a named column; CSV readers count fields, so the column is the field's.
    fn problem(&mut self, name: &str, message: impl Into<String>) -> &mut Problem {
        let index = HEADER.iter().position(|known| *known == name).unwrap_or(0);
        let message = format!("{name}: {}", message.into());
        let problem = Problem::new(self.file, Position::new(self.line, index + 1), message);
        self.problems.push(problem);
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    fn case(&mut self) -> Option<Case> {
        if self.fields.len() != HEADER.len() {
            let message = format!("{} fields, expected {}", self.fields.len(), HEADER.len());
            self.problem("id", message).help = Some("quote fields that hold commas".to_owned());
            return None;
        }
        let id = self.field("id").to_owned();
        let legal = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if id.is_empty() || !id.chars().all(legal) {
            self.problem("id", format!("`{id}` is no id; use letters, digits, `_`, `.`, `-`"));
        }
        let prompt = self.field("prompt").to_owned();
        if prompt.is_empty() {
            self.problem("prompt", "it is empty");
        }
        let kind = self.kind()?;
        let alternatives = self.alternatives(kind);
        let tags = self.field("tags").split(';').map(str::trim).filter(|tag| !tag.is_empty());
        let tags = tags.map(str::to_owned).collect();
        let mut hasher = Hasher::new("case");
        for name in ["id", "kind", "prompt", "tools", "args"] {
            hasher = hasher.field(self.field(name).as_bytes());
        }
        Some(Case {
            frozen: is_frozen(self.suite, &id),
            id: id.into(),
            origin: format!("{}:{}", self.file, self.line),
            kind,
            messages: vec![prompt],
            provider: None,
            script: None,
            approvals: None,
            play: Default::default(),
            knobs: None,
            workspace: BTreeMap::new(),
            excluded: Default::default(),
            availability: None,
            principal: None,
            intent: None,
            dialect: None,
            tags,
            trials: None,
            expect: Expectation { alternatives, ..Expectation::default() },
            digest: hasher.finish(),
        })
    }

    fn kind(&mut self) -> Option<Kind> {
        let kinds = [Kind::Golden, Kind::NoTool, Kind::Ask, Kind::Refuse];
        let written = self.field("kind").to_owned();
        let kind = kinds.into_iter().find(|kind| kind.name() == written);
        if kind.is_none() {
            let names = kinds.map(Kind::name).join(", ");
            self.problem("kind", format!("`{written}` is not one of {names}"));
        }
        kind
    }

    fn alternatives(&mut self, kind: Kind) -> Vec<Vec<ExpectedCall>> {
        let tools = self.field("tools").to_owned();
        if kind != Kind::Golden {
            if !tools.is_empty() || !self.field("args").is_empty() {
                self.problem("tools", format!("a {} prompt expects no call", kind.name()));
            }
            return vec![Vec::new()];
        }
        if tools.is_empty() {
            self.problem("tools", "a golden prompt names its tool").help =
                Some("write `a`, `a|b` (either) or `a;b` (both)".to_owned());
            return Vec::new();
        }
        let args = self.args();
        let names: Vec<Vec<String>> = tools
            .split('|')
            .map(|set| set.split(';').map(|name| name.trim().to_owned()).collect())
            .collect();
        let all: Vec<String> = names.iter().flatten().cloned().collect();
        let known = all.iter().filter(|name| self.check_tool(name)).count();
        if let Some(args) = args.as_ref().filter(|_| known == all.len()) {
            self.check_args(args, &all);
        }
        let call = |name: &String| ExpectedCall {
            tool: name.as_str().into(),
            args: args.as_ref().map(|args| self.args_of(name, args)),
            outcome: None,
        };
        names.iter().map(|set| set.iter().map(call).collect()).collect()
    }

    /// Of several expected tools, each is held against the arguments it knows.
    fn args_of(&self, name: &str, args: &Matchers) -> Matchers {
        let known = |key: &String| parameter(self.registry, name, key);
        args.iter().filter(|(key, _)| known(key)).map(|(k, v)| (k.clone(), v.clone())).collect()
    }

    fn args(&mut self) -> Option<Matchers> {
        let written = self.field("args").to_owned();
        if written.is_empty() {
            return None;
        }
        let parsed = match serde_json::from_str::<Value>(&written) {
            Ok(Value::Object(map)) => {
                Matcher::parse_all(&map).map_err(|(n, m)| format!("{n}: {m}"))
            }
            Ok(_) => Err("expected a JSON object of matchers".to_owned()),
            Err(error) => Err(format!("not JSON: {error}")),
        };
        match parsed {
            Ok(matchers) => Some(matchers),
            Err(message) => {
                self.problem("args", message);
                None
            }
        }
    }

    fn check_tool(&mut self, name: &str) -> bool {
        if ToolId::parse(name).is_some_and(|id| self.registry.get(&id).is_some()) {
            return true;
        }
        let registry = self.registry;
        let names: Vec<&str> = registry.iter().map(|tool| tool.id().as_str()).collect();
        let ending = format!(".{name}");
        let short = names.iter().find(|known| known.ends_with(&ending)).copied();
        let problem = self.problem("tools", format!("no tool `{name}` in this suite"));
        *problem = match short {
            Some(known) => problem.clone().help(format!("did you mean `{known}`?")),
            None => problem.clone().suggest(name, names),
        };
        false
    }

    fn check_args(&mut self, args: &Matchers, tools: &[String]) {
        for key in args.keys() {
            if !tools.iter().any(|tool| parameter(self.registry, tool, key)) {
                let message = format!("`{key}` is no parameter of {}", tools.join(" or "));
                self.problem("args", message);
            }
        }
    }
}

/// Whether a tool has a parameter.
pub fn parameter(registry: &Registry, tool: &str, key: &str) -> bool {
    let id = ToolId::parse(tool);
    let tool = id.and_then(|id| registry.get(&id).map(Arc::clone));
    let properties = tool.as_ref().map(|tool| &tool.descriptor.schemas.input_schema);
    properties.and_then(|schema| schema.get("properties")).is_some_and(|p| p.get(key).is_some())
}
