//! Loading a suite: every file is read, every problem of all of them is reported together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::availability::{self, Place, keys};
use super::case::Case;
use super::credentials::CredentialsEntry;
use super::home_source::{self, HomeParts};
use super::knobs;
use super::load_cases::{self, CaseFile, case_file};
use super::load_settings;
pub use super::load_settings::PROVIDERS;
use super::mcp_source::Calls;
use super::prompts;
use super::read::{files_below, normal, read, shown};
use super::skill_source;
use super::suite::{SUITE, SuiteFile, ToolSource};
use crate::base::canon::content_digest;
use crate::base::digest::Digest;
use crate::base::document::{Document, escape};
use crate::base::problem::{Position, Problem};
use crate::runtime::catalog::Registry;
use crate::runtime::mcp::{McpServer, Servers};
use crate::runtime::policy::{Principal, Rules};
use crate::runtime::resolved::Knobs;
use crate::runtime::sandbox::host::Host;
use crate::runtime::sandbox::package::{Package, Packages};
use crate::runtime::view::Blocks;
use crate::runtime::view::compile::MAY_EXPOSE;
use crate::runtime::view::{
    ActivatedSet, Availability, Environment, Matched, View, ViewRequest, compile,
};
use crate::tool::descriptor::Descriptor;
use crate::tool::id::ToolId;
use crate::tool::intent::Intent;
use crate::tool::manifest;

/// A loaded suite.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The name.
    pub name: Arc<str>,
    /// The folder of `suite.yaml`, as the user named it.
    pub folder: PathBuf,
    /// As written.
    pub file: SuiteFile,
    /// Its tools.
    pub registry: Arc<Registry>,
    /// Its rules.
    pub rules: Arc<Rules>,
    /// Who acts.
    pub principal: Principal,
    /// Settings.
    pub knobs: Knobs,
    /// What is at hand.
    pub environment: Environment,
    /// The agent's home that its tools are from, where they are.
    pub home: Option<AgentHome>,
    /// Names kept out.
    pub excluded: BTreeSet<ToolId>,
    /// What is allowed beside that.
    pub availability: Arc<Availability>,
    /// All cases, prompts first.
    pub cases: Vec<Arc<Case>>,
    /// Look-alike pairs.
    pub look_alikes: Vec<(String, String)>,
    /// Digest of rules, principal and settings.
    pub policy_digest: Digest,
}

/// An agent's home, as it is used where an agent runs and not where it is measured.
#[derive(Debug, Clone)]
pub struct AgentHome {
    /// Its folder.
    pub root: PathBuf,
    /// Its servers; nobody agreed to any of them yet.
    pub servers: Vec<McpServer>,
}

impl Suite {
    /// What a request without an intent and a message of its own would be offered.
    pub fn view(&self) -> View {
        self.view_without(&Blocks::default())
    }

    /// The same in a session that has lost these tools.
    pub fn view_without(&self, blocks: &Blocks) -> View {
        compile(&ViewRequest {
            registry: &self.registry,
            principal: &self.principal,
            rules: &self.rules,
            intent: &Intent::default(),
            environment: &self.environment,
            blocks,
            excluded: &self.excluded,
            availability: &self.availability,
            matched: &Matched::default(),
            activated: &ActivatedSet::default(),
            failures: &BTreeMap::new(),
            may_expose: MAY_EXPOSE,
        })
    }
}

/// Problems of all files, gathered while loading.
#[derive(Debug, Default)]
struct Loader {
    problems: Vec<Problem>,
    packages: Vec<Package>,
    home: Option<(PathBuf, HomeParts)>,
}

/// Descriptors of sources that cannot be read from files alone, by the index of their source in
/// `tools`. Live servers are listed by the caller, which may await.
pub type Listed = BTreeMap<usize, Vec<Descriptor>>;

/// Reads only `suite.yaml`.
///
/// # Errors
/// All problems of the file.
pub fn read_suite_file(folder: &Path) -> Result<(Document, SuiteFile), Vec<Problem>> {
    let path = folder.join("suite.yaml");
    let text = read(&path).map_err(|problem| vec![problem])?;
    let document = Document::parse(&shown(&path), &text).map_err(|problem| vec![problem])?;
    let file = SUITE.get().decode(&document)?;
    Ok((document, file))
}

/// The files of descriptors, and of listings, below a path; none where it cannot be read.
pub fn manifests(path: &Path) -> Vec<PathBuf> {
    files_below(path, &["yaml", "yml", "json"]).unwrap_or_default()
}

/// Loads a suite.
///
/// # Errors
/// All problems of all its files, in the order of files and places.
pub fn load(folder: &Path, listed: &Listed) -> Result<Suite, Vec<Problem>> {
    let (document, mut file) = read_suite_file(folder)?;
    let mut loader = Loader::default();
    let mut descriptors = loader.descriptors(folder, &document, &file, listed);
    let home = loader.home(&mut file);
    let case_files = loader.case_files(folder, &document, &file);
    if file.deferred.is_some() || case_files.iter().any(CaseFile::defers) {
        let taken = availability::add_search(&mut descriptors);
        loader.problems.extend(taken.map(|message| document.problem("/tools", message)));
    }
    let registry = loader.registry(&document, descriptors);
    let principal = file.principal.principal();
    let rules = loader.rules((folder, &document), &file, &registry, &principal);
    let mut cases = loader.prompts(folder, &document, &file, &registry);
    let place = Place { document: &document, at: "", registry: &registry };
    let keys = keys!(file);
    let base = Availability::default();
    let availability = availability::read(&keys, &base, &place, &mut loader.problems);
    let excluded = availability::excluded(&file.excluded_tools, &place, &mut loader.problems);
    let own = (file.knobs.duplicate_exempt.as_slice(), file.knobs.loop_limits);
    knobs::check(own, &place, &mut loader.problems);
    let found = &mut loader.problems;
    cases.extend(load_cases::all(case_files, &file, &registry, &availability, found));
    loader.check_ids(&cases);
    let look_alikes = loader.look_alikes((folder, &document), &file, &registry);
    load_settings::check(&document, &file, &mut loader.problems);
    for (name, why) in file.credentials.iter().flat_map(CredentialsEntry::problems) {
        let at = format!("/credentials/{}", escape(&name));
        loader.problems.push(document.problem(&at, why));
    }
    if !loader.problems.is_empty() {
        loader.problems.sort();
        loader.problems.dedup();
        return Err(loader.problems);
    }
    let mut policy = serde_json::json!({"rules": rules.digest(), "principal": file.principal,
        "knobs": file.knobs, "excluded": file.excluded_tools, "credentials": file.credentials});
    if let Some(content) = keys.content() {
        policy["availability"] = content;
    }
    Ok(Suite {
        name: file.name.as_str().into(),
        folder: folder.to_path_buf(),
        knobs: knobs::settings(&file.knobs),
        environment: Environment {
            credentials: file.credentials.as_ref().map(CredentialsEntry::names),
            evaluation: true,
            budget_usd: file.knobs.budget_usd,
            max_tools: file.knobs.max_tools,
            host: Host::default(),
            servers: Arc::new(live_servers(folder, &file)),
            packages: Arc::new(Packages::new(loader.packages)),
            held: Arc::default(),
        },
        home,
        policy_digest: content_digest("policy", &policy),
        registry: Arc::new(registry),
        rules: Arc::new(rules),
        principal,
        excluded,
        availability: Arc::new(availability),
        cases: cases.into_iter().map(Arc::new).collect(),
        look_alikes,
        file,
    })
}

const IN_A_HOME: &str = "a home has the tools that are enabled in the scope `live` of its registry: \
                         `proofmark registry --registry HOME/tools add ..`";

/// The servers that trials call.
fn live_servers(folder: &Path, file: &SuiteFile) -> Servers {
    let live = file.tools.iter().filter_map(|source| match source {
        ToolSource::Mcp { mcp } if mcp.calls == Calls::Live => Some(mcp.server(folder)),
        _ => None,
    });
    Servers::new(live)
}

impl Loader {
    /// The home that was read, less what belongs to the suite from here on.
    fn home(&mut self, file: &mut SuiteFile) -> Option<AgentHome> {
        let (root, parts) = self.home.take()?;
        self.packages.extend(parts.packages);
        if !parts.bindings.is_empty() {
            let own = file.credentials.take().unwrap_or(CredentialsEntry::Names(Vec::new()));
            file.credentials = Some(own.with(parts.bindings));
        }
        Some(AgentHome { root, servers: parts.servers })
    }

    /// A file that is referred to and not there is a problem where it is referred to.
    fn is_missing(&mut self, document: &Document, at: &str, path: &Path) -> bool {
        if path.is_file() {
            return false;
        }
        self.problems.push(document.problem(at, format!("there is no {}", shown(path))));
        true
    }

    fn take<T: Default>(&mut self, result: Result<T, Vec<Problem>>) -> T {
        result.unwrap_or_else(|mut problems| {
            self.problems.append(&mut problems);
            T::default()
        })
    }

    fn folder_files(&mut self, document: &Document, at: &str, path: &Path) -> Vec<PathBuf> {
        let found = files_below(path, &["yaml", "yml"]);
        let found = found.map_err(|error| {
            let message = format!("{} cannot be read: {}", shown(path), error.kind());
            vec![document.problem(at, message)]
        });
        self.take(found)
    }

    fn descriptors(
        &mut self,
        folder: &Path,
        document: &Document,
        file: &SuiteFile,
        listed: &Listed,
    ) -> Vec<Descriptor> {
        let mut descriptors = Vec::new();
        let mut origins = BTreeMap::new();
        for (index, source) in file.tools.iter().enumerate() {
            let at = format!("/tools/{index}");
            match source {
                ToolSource::Path(path) => {
                    for path in self.folder_files(document, &at, &folder.join(path)) {
                        let parsed = read(&path)
                            .map_err(|problem| vec![problem])
                            .and_then(|text| manifest::parse(&shown(&path), &text).map(Some));
                        if let Some(descriptor) = self.take(parsed) {
                            self.check_unique(&path, &descriptor, &mut origins);
                            descriptors.push(descriptor);
                        }
                    }
                }
                ToolSource::Skill { skill } => {
                    let read = skill_source::read(&folder.join(skill)).map(Some);
                    if let Some((package, imported)) = self.take(read) {
                        descriptors.extend(imported.descriptors);
                        self.packages.push(package);
                    }
                }
                ToolSource::Home { home } => {
                    let root = folder.join(home);
                    let read = home_source::parts(&root).map(Some);
                    if let Some(mut parts) = self.take(read) {
                        parts.bindings.values_mut().for_each(|entry| entry.below(home));
                        self.home = Some((normal(&root), parts));
                    }
                    descriptors.extend(listed.get(&index).into_iter().flatten().cloned());
                }
                ToolSource::Mcp { mcp } if mcp.problem().is_some() => {
                    let why = mcp.problem().unwrap_or_default();
                    self.problems.push(document.problem(&format!("{at}/mcp"), why));
                }
                ToolSource::Mcp { .. }
                | ToolSource::OpenAi { .. }
                | ToolSource::Snapshot { .. }
                | ToolSource::Registry { .. } => match listed.get(&index) {
                    Some(found) => descriptors.extend(found.iter().cloned()),
                    None => self.problems.push(document.problem(&at, "was not listed")),
                },
            }
        }
        descriptors
    }

    fn registry(&mut self, document: &Document, descriptors: Vec<Descriptor>) -> Registry {
        if descriptors.is_empty() && self.problems.is_empty() {
            let problem = document.problem("/tools", "there is not a single tool");
            let has_home = document.value.pointer("/tools").is_some_and(|tools| {
                tools.as_array().is_some_and(|all| all.iter().any(|one| one.get("home").is_some()))
            });
            self.problems.push(match has_home {
                true => problem.help(IN_A_HOME),
                false => problem,
            });
        }
        Registry::new(descriptors).unwrap_or_else(|errors| {
            let seen = !self.problems.is_empty();
            let place = |error: &crate::runtime::error::SetupError| {
                document.problem("/tools", error.to_string())
            };
            // A duplicate between manifests was reported at its own file already.
            if !seen {
                self.problems.extend(errors.iter().map(place));
            }
            Registry::default()
        })
    }

    fn check_unique(
        &mut self,
        path: &Path,
        descriptor: &Descriptor,
        origins: &mut BTreeMap<ToolId, String>,
    ) {
        let id = descriptor.tool_id.clone();
        if let Some(first) = origins.insert(id.clone(), shown(path)) {
            let message = format!("tool `{id}` stands in {first} already");
            self.problems.push(Problem::new(shown(path), Position::new(1, 1), message));
        }
        if crate::runtime::sandbox::adapter::Adapter::parse(&descriptor.execution.adapter).is_none()
        {
            let message = format!("unknown adapter `{}`", descriptor.execution.adapter);
            let problem = Problem::new(shown(path), Position::default(), message);
            let known = crate::runtime::sandbox::adapter::Adapter::NAMES;
            self.problems.push(problem.suggest(&descriptor.execution.adapter, known));
        }
    }

    fn rules(
        &mut self,
        (folder, document): (&Path, &Document),
        file: &SuiteFile,
        registry: &Registry,
        principal: &Principal,
    ) -> Rules {
        let Some(path) = &file.rules else { return Rules::default() };
        if self.is_missing(document, "/rules", &folder.join(path)) {
            return Rules::default();
        }
        if registry.is_empty() {
            return Rules::default();
        }
        let path = folder.join(path);
        let parsed = read(&path)
            .map_err(|problem| vec![problem])
            .and_then(|text| Rules::parse(&shown(&path), &text, registry, principal));
        self.take(parsed)
    }

    fn prompts(
        &mut self,
        folder: &Path,
        document: &Document,
        file: &SuiteFile,
        registry: &Registry,
    ) -> Vec<Case> {
        let Some(path) = &file.prompts else { return Vec::new() };
        let path = normal(&folder.join(path));
        if self.is_missing(document, "/prompts", &path) {
            return Vec::new();
        }
        if registry.is_empty() {
            return Vec::new();
        }
        let parsed = read(&path)
            .map_err(|problem| vec![problem])
            .and_then(|text| prompts::parse(&shown(&path), &text, &file.name, registry));
        self.take(parsed)
    }

    fn case_files(
        &mut self,
        folder: &Path,
        document: &Document,
        file: &SuiteFile,
    ) -> Vec<CaseFile> {
        let mut files = Vec::new();
        for (index, path) in file.cases.iter().enumerate() {
            let at = format!("/cases/{index}");
            for path in self.folder_files(document, &at, &folder.join(path)) {
                let read = case_file(path).map(Some);
                files.extend(self.take(read));
            }
        }
        files
    }

    fn check_ids(&mut self, cases: &[Case]) {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for case in cases {
            if let Some(first) = seen.insert(&case.id, &case.origin) {
                let (file, line) = case.origin.rsplit_once(':').unwrap_or((&case.origin, "0"));
                let at = Position::new(line.parse().unwrap_or(0), 1);
                let message = format!("a second case `{}`; the first is at {first}", case.id);
                self.problems.push(Problem::new(file, at, message));
            }
        }
    }

    fn look_alikes(
        &mut self,
        (folder, document): (&Path, &Document),
        file: &SuiteFile,
        registry: &Registry,
    ) -> Vec<(String, String)> {
        let Some(path) = &file.look_alikes else { return Vec::new() };
        let path = folder.join(path);
        if self.is_missing(document, "/look_alikes", &path) {
            return Vec::new();
        }
        let text = match read(&path) {
            Ok(text) => text,
            Err(problem) => {
                self.problems.push(problem);
                return Vec::new();
            }
        };
        if registry.is_empty() {
            return Vec::new();
        }
        let mut pairs = Vec::new();
        for record in csv::Reader::from_reader(text.as_bytes()).records() {
            let place = record.as_ref().map_or_else(csv::Error::position, |r| r.position());
            let line = place.map_or(0, |p| usize::try_from(p.line()).unwrap_or(0));
            let Ok(record) = record else {
                let problem = Problem::new(shown(&path), Position::new(line, 1), "not a,b,why");
                self.problems.push(problem.help("quote fields that hold commas"));
                continue;
            };
            for name in record.iter().take(2) {
                if ToolId::parse(name).is_none_or(|id| registry.get(&id).is_none()) {
                    let at = Position::new(line, 1);
                    let problem = Problem::new(shown(&path), at, format!("no tool `{name}`"));
                    let names = registry.iter().map(|tool| tool.id().as_str());
                    self.problems.push(problem.suggest(name, names));
                }
            }
            let field = |index| record.get(index).unwrap_or_default().to_owned();
            pairs.push((field(0), field(1)));
        }
        pairs
    }
}
