//! Reading what is to be judged: suites, manifests, saved listings, live servers.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::LintArgs;
use crate::base::document::Document;
use crate::base::locate;
use crate::base::problem::Problem;
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::sources::{self, short_name, without_secrets};
use crate::cli::{interruptible, runtime, suites, tools};
use crate::eval::load::{self, Suite};
use crate::eval::read::{read, shown};
use crate::eval::skill_source;
use crate::eval::suite::ToolSource;
use crate::lint::{Level, Server, Subject};
use crate::runtime::catalog::source::skill::FILE;
use crate::runtime::catalog::source::{openai, snapshot};
use crate::runtime::catalog::store::Store;
use crate::runtime::home::TOOLS;
use crate::runtime::mcp::{Allows, parse_server};
use crate::tool::descriptor::FORMAT;
use crate::tool::manifest;

/// Servers that are judged together.
#[derive(Debug, Default)]
pub(super) struct Unit {
    /// The servers.
    pub(super) servers: Vec<Server>,
    /// Where each of their tools stands: server, tool.
    pub(super) origins: Vec<Vec<Origin>>,
    /// The files.
    pub(super) texts: Vec<Text>,
    /// How many golden prompts expect each tool, by id, where the unit is a suite.
    pub(super) prompts: Option<BTreeMap<String, usize>>,
    /// Levels that the unit asks for: rule, level, where that is written.
    pub(super) levels: Vec<(String, Level, Problem)>,
    /// What two starts of the first server listed.
    pub(super) starts: Option<[Vec<Value>; 2]>,
}

/// A file with tools in it.
#[derive(Debug)]
pub(super) struct Text {
    /// As the user named it.
    pub(super) file: String,
    /// What is in it.
    pub(super) text: String,
    /// Its places, where it is a manifest; a listing is walked.
    pub(super) document: Option<Document>,
}

/// Where a tool stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    /// The number of the file.
    pub(super) text: usize,
    /// The byte at which its definition begins.
    pub(super) at: usize,
}

/// Everything that the command line names.
pub(super) fn gather(args: &LintArgs, output: &mut Output) -> Result<Vec<Unit>, CliError> {
    let (mut units, mut named, mut loose) = (Vec::new(), Vec::new(), Unit::default());
    let mut problems = Vec::new();
    let mut keep =
        |result: Result<(), Vec<Problem>>| problems.extend(result.err().unwrap_or_default());
    for target in &args.targets {
        let path = Path::new(target);
        let suite = path.join("suite.yaml").is_file() || path.ends_with("suite.yaml");
        if suite || !path.exists() {
            named.push(target.clone());
        } else if path.is_dir() {
            keep(folder(&mut loose, path));
        } else {
            keep(file(&mut loose, path));
        }
    }
    for path in &args.listing {
        keep(listing(&mut loose, path).map_err(|problem| vec![problem]));
    }
    if !problems.is_empty() {
        return Err(problems.into());
    }
    if let Some(line) = &args.mcp {
        live(&mut loose, line, output)?;
    }
    let nothing = args.targets.is_empty() && args.listing.is_empty() && args.mcp.is_none();
    if nothing || !named.is_empty() {
        let found = interruptible(&runtime()?, suites::find(&named, &[]))??;
        for suite in &found.not_run {
            output.error(&format!("not judged: {}: {}", suite.suite, suite.reason));
        }
        if found.suites.is_empty() && nothing {
            return Err(found.nothing());
        }
        for suite in &found.suites {
            units.push(of_suite(suite)?);
        }
    }
    if !loose.servers.is_empty() {
        units.push(loose);
    }
    Ok(units)
}

fn of_suite(suite: &Suite) -> Result<Unit, CliError> {
    let (document, file) = load::read_suite_file(&suite.folder)?;
    let mut unit = Unit { prompts: Some(tools::prompts(suite)), ..Unit::default() };
    let mut own = Server { name: suite.name.to_string(), tools: Vec::new() };
    let mut origins = Vec::new();
    for source in &file.tools {
        match source {
            ToolSource::Path(path) => {
                for path in load::manifests(&suite.folder.join(path)) {
                    manifest(&mut unit, (&mut own, &mut origins), &path)?;
                }
            }
            ToolSource::Skill { skill } => {
                of_skill(&mut unit, (&mut own, &mut origins), &suite.folder.join(skill))?;
            }
            ToolSource::Mcp { mcp } => listing(&mut unit, &sources::kept(&suite.folder, mcp))?,
            ToolSource::Registry { registry: root } | ToolSource::Home { home: root } => {
                let mut root = suite.folder.join(root);
                if matches!(source, ToolSource::Home { .. }) {
                    root.push(TOOLS);
                }
                for path in Store::read(&root)?.files() {
                    manifest(&mut unit, (&mut own, &mut origins), &path)?;
                }
            }
            ToolSource::OpenAi { openai } => listing(&mut unit, &suite.folder.join(openai))?,
            ToolSource::Snapshot { snapshot } => {
                listing(&mut unit, &suite.folder.join(snapshot))?;
            }
        }
    }
    if !own.tools.is_empty() {
        unit.servers.push(own);
        unit.origins.push(origins);
    }
    // Prompts name tools by their ids here, and listings by the server's own names.
    if let Some(prompts) = unit.prompts.as_mut() {
        let bare: Vec<(String, usize)> = prompts
            .iter()
            .filter_map(|(id, count)| Some((id.split_once('.')?.1.to_owned(), *count)))
            .collect();
        prompts.extend(bare);
    }
    for (name, level) in file.lint.into_iter().flat_map(|entry| entry.levels) {
        let problem = document.problem(&format!("/lint/levels/{name}"), "");
        unit.levels.push((name, level.into(), problem));
    }
    Ok(unit)
}

impl From<Problem> for CliError {
    fn from(problem: Problem) -> Self {
        Self::Inputs(vec![problem])
    }
}

/// A folder that is no suite: manifests make one server, each listing is one.
fn folder(unit: &mut Unit, path: &Path) -> Result<(), Vec<Problem>> {
    let mut server = Server { name: sources::stem(path), tools: Vec::new() };
    let (mut origins, mut problems) = (Vec::new(), Vec::new());
    for path in load::manifests(path) {
        let judged = match is_listing(&path) {
            true => listing(unit, &path).map_err(|problem| vec![problem]),
            false => manifest(unit, (&mut server, &mut origins), &path),
        };
        problems.extend(judged.err().unwrap_or_default());
    }
    if !server.tools.is_empty() {
        unit.servers.push(server);
        unit.origins.push(origins);
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn file(unit: &mut Unit, path: &Path) -> Result<(), Vec<Problem>> {
    if is_listing(path) {
        return listing(unit, path).map_err(|problem| vec![problem]);
    }
    let mut server = Server { name: sources::stem(path), tools: Vec::new() };
    let mut origins = Vec::new();
    manifest(unit, (&mut server, &mut origins), path)?;
    unit.servers.push(server);
    unit.origins.push(origins);
    Ok(())
}

/// Whether a file is JSON and no manifest.
fn is_listing(path: &Path) -> bool {
    let json = path.extension().is_some_and(|ending| ending == "json");
    json && read(path).is_ok_and(|text| !text.contains(FORMAT))
}

fn manifest(
    unit: &mut Unit,
    (server, origins): (&mut Server, &mut Vec<Origin>),
    path: &Path,
) -> Result<(), Vec<Problem>> {
    let file = shown(path);
    let text = read(path).map_err(|problem| vec![problem])?;
    let descriptor = manifest::parse(&file, &text)?;
    let document = Document::parse(&file, &text).map_err(|problem| vec![problem])?;
    origins.push(Origin { text: unit.texts.len(), at: 0 });
    unit.texts.push(Text { file, text, document: Some(document) });
    server.tools.push(Subject::of_descriptor(&descriptor));
    Ok(())
}

/// The tools of a skill: what is said of them stands in its text.
fn of_skill(
    unit: &mut Unit,
    (server, origins): (&mut Server, &mut Vec<Origin>),
    folder: &Path,
) -> Result<(), Vec<Problem>> {
    let (_, imported) = skill_source::read(folder)?;
    let path = folder.join(FILE);
    let (file, text) = (shown(&path), read(&path).map_err(|problem| vec![problem])?);
    for descriptor in &imported.descriptors {
        origins.push(Origin { text: unit.texts.len(), at: 0 });
        server.tools.push(Subject::of_descriptor(descriptor));
    }
    unit.texts.push(Text { file, text, document: None });
    Ok(())
}

/// A saved listing, or a tool list for a model.
fn listing(unit: &mut Unit, path: &Path) -> Result<(), Problem> {
    let (file, text) = (shown(path), read(path)?);
    let fail = |message: String| Problem::new(&file, Default::default(), message);
    let parsed = match snapshot::parse(&text) {
        Ok(saved) => saved.snapshot,
        // Another form of list, which its own reader knows.
        Err(error) => {
            let value = serde_json::from_str(&text).map_err(|_| fail(error.to_string()))?;
            let tools = openai::tools(&value).map_err(|_| fail(error.to_string()))?.to_vec();
            snapshot::Snapshot { tools, ..Default::default() }
        }
    };
    let name = match parsed.command.as_slice() {
        [] if parsed.server_name.is_empty() => file_name(path),
        [] => parsed.server_name.clone(),
        command => short_name(command),
    };
    add(unit, name, &parsed.tools, Text { file, text, document: None });
    Ok(())
}

/// The name of a file without its ending and without a version behind an `@`.
fn file_name(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match name.rsplit_once('@') {
        Some((before, _)) if !before.is_empty() => before.to_owned(),
        _ => name,
    }
}

fn add(unit: &mut Unit, name: String, tools: &[Value], text: Text) {
    let number = unit.texts.len();
    let places = elements(&text.text);
    let place = |index: usize| places.get(index).copied().unwrap_or_default();
    let origins = (0..tools.len()).map(|index| Origin { text: number, at: place(index) });
    unit.origins.push(origins.collect());
    unit.texts.push(text);
    let tools = tools.iter().map(Subject::of_element).collect();
    unit.servers.push(Server { name, tools });
}

/// Where the tools of a listing begin, page after page, in the order in which they are read.
fn elements(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for page in locate::values(text) {
        let list = ["/tools", "/result/tools", ""].into_iter().find_map(|pointer| {
            let spot = locate::find(text, page, pointer);
            text.get(spot.value..).filter(|rest| rest.starts_with('[')).map(|_| spot.value)
        });
        let items = list.map(|at| locate::parts(text, at)).unwrap_or_default();
        found.extend(items.into_iter().map(|(_, spot)| spot.value));
    }
    found
}

/// Starts a server twice: the second time only to see whether it says the same.
fn live(unit: &mut Unit, line: &str, output: &mut Output) -> Result<(), CliError> {
    let server = parse_server(line).map_err(|error| CliError::Usage(error.to_string()))?;
    let command = server.words();
    if output.watched() {
        output.error(&format!("waiting for two starts of {} (60 s each at most)", command[0]));
    }
    let runtime = runtime()?;
    let first = interruptible(&runtime, sources::list(&server, Allows::default()))??;
    let second = interruptible(&runtime, sources::list(&server, Allows::default()))??;
    let file = format!("tools/list of {}", without_secrets(&command).join(" "));
    let text = Text { file, text: first.to_text(), document: None };
    // Judged together with what else is named, the live server comes first.
    let mut alone = Unit::default();
    add(&mut alone, short_name(&command), &first.tools, text);
    shift(unit, alone);
    unit.starts = Some([first.tools, second.tools]);
    Ok(())
}

/// Puts the servers of one unit before those of another.
fn shift(unit: &mut Unit, mut first: Unit) {
    let files = first.texts.len();
    for origin in unit.origins.iter_mut().flatten() {
        origin.text += files;
    }
    first.servers.append(&mut unit.servers);
    first.origins.append(&mut unit.origins);
    first.texts.append(&mut unit.texts);
    *unit = first;
}
