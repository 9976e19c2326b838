//! A skill's folder -> tools: one that teaches, and one for each of its scripts (seed B invariant
//! 12). The first gives its text and grants nothing; a script is a command line tool like any
//! other, in a sandbox, and a person is asked before it runs.
//!
//! What a script does nobody has declared, so every doubt counts against it: it may read and
//! change the workspace, and reaches nothing.

use serde_json::json;

use super::{ImportProblem, Imported, Severity};
use crate::base::media;
use crate::runtime::sandbox::package::{DIGEST, PLACE, Package};
use crate::tool::descriptor::{
    ApprovalPolicy, Description, Descriptor, Effects, Execution, FORMAT, IntentSection,
    OutputExposure, Permissions, Provenance, RiskSection, Sandbox, SandboxMode, Schemas, Source,
    SourceType, TrustLevel,
};
use crate::tool::effect::{ActionType, ResourcePattern};
use crate::tool::id::ToolId;
use crate::tool::risk::RiskLevel;
use crate::tool::sections::{Filesystem, Limits};
use crate::tool::skill::Skill;

/// The file that makes a folder a skill.
pub const FILE: &str = "SKILL.md";
/// What a script of somebody else's never needs.
const BLOCKED: [&str; 4] = [".env", ".git", "**/*.pem", "**/id_*"];
/// Memory of a script, in megabytes.
const MEMORY_MB: u64 = 1024;
/// Output of a script, in bytes: 1 MiB.
const OUTPUT: u64 = 1 << 20;
/// What runs a script, by its ending; any other script runs by itself.
const INTERPRETERS: [(&str, &str); 6] = [
    ("sh", "sh"),
    ("bash", "bash"),
    ("py", "python3"),
    ("js", "node"),
    ("mjs", "node"),
    ("rb", "ruby"),
];

/// The id of a skill's package and of its tools' source.
pub fn source_id(name: &str) -> String {
    format!("skill:{name}")
}

/// The tools of a skill: the one that teaches first, then its scripts by their paths.
pub fn import(skill: &Skill, package: &Package) -> Imported {
    let mut imported = Imported::default();
    imported.descriptors.push(guide(skill, package));
    for (path, id) in scripts(&skill.name, package) {
        if imported.descriptors.iter().any(|known| known.tool_id == id) {
            imported.problems.push(ImportProblem {
                tool: id.to_string(),
                severity: Severity::Lost,
                message: format!("{path} has the name of another script of the skill"),
                help: Some("scripts differ in more than their ending".to_owned()),
            });
            continue;
        }
        imported.descriptors.push(script(skill, package, (path, id)));
    }
    imported
}

/// The paths of a skill's scripts, each with its tool.
fn scripts<'a>(
    name: &'a str,
    package: &'a Package,
) -> impl Iterator<Item = (&'a str, ToolId)> + 'a {
    let paths = package.paths().filter(|path| path.starts_with("scripts/"));
    paths.map(move |path| (path, script_id(name, path)))
}

/// What the skill teaches: its text, with what there is beside it; or one of its files. `None` for
/// a file that it does not have, or that is no text.
pub fn teach(package: &Package, file: Option<&str>) -> Option<String> {
    let name = package.id.strip_prefix("skill:").unwrap_or(&package.id);
    let text = |path: &str| std::str::from_utf8(package.bytes(path)?).ok();
    if let Some(file) = file {
        return files(package).find(|path| *path == file).and_then(text).map(str::to_owned);
    }
    let skill = Skill::parse(FILE, text(FILE)?, name).ok()?;
    let mut out = skill.body;
    let mut beside: Vec<String> =
        files(package).map(|path| format!("- {path}: read it with `file`")).collect();
    beside.extend(scripts(name, package).map(|(path, id)| format!("- {path}: the tool {id}")));
    if !beside.is_empty() {
        out.push_str("\n\nBeside this text the skill has:\n");
        out.push_str(&beside.join("\n"));
    }
    Some(out)
}

fn script_id(skill: &str, path: &str) -> ToolId {
    let name = path.trim_start_matches("scripts/");
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem).replace('/', "_");
    ToolId::sanitized(&format!("skill.{skill}.{stem}"))
}

/// What every tool of a skill has in common.
fn base(skill: &Skill, package: &Package, id: ToolId, summary: String) -> Descriptor {
    let mut foreign = skill.more.clone();
    foreign.insert(DIGEST.to_owned(), json!(package.digest));
    Descriptor {
        schema: FORMAT.to_owned(),
        tool_id: id,
        canonical_name: None,
        display_name: None,
        version: None,
        source: Source {
            r#type: SourceType::Skill,
            source_id: source_id(&skill.name),
            ..Source::default()
        },
        lifecycle: Default::default(),
        description: Description { summary, ..Description::default() },
        intent: IntentSection {
            action_types: vec![ActionType::Read],
            domains: vec![skill.name.clone()],
            ..IntentSection::default()
        },
        schemas: Schemas::default(),
        effects: Effects::default(),
        risk: RiskSection::default(),
        permissions: Permissions::default(),
        sandbox: Sandbox {
            filesystem: Filesystem {
                blocked_paths: BLOCKED.map(str::to_owned).to_vec(),
                ..Filesystem::default()
            },
            limits: Limits {
                max_memory_mb: Some(MEMORY_MB),
                max_output_bytes: Some(OUTPUT),
                ..Limits::default()
            },
            ..Sandbox::default()
        },
        credentials: Default::default(),
        context_policy: Default::default(),
        execution: Execution::default(),
        hooks: Default::default(),
        observability: Default::default(),
        provenance: Provenance {
            trust_level: TrustLevel::Untrusted,
            foreign,
            ..Provenance::default()
        },
        subagent: None,
    }
}

fn finished(mut descriptor: Descriptor) -> Descriptor {
    descriptor.version = Some(descriptor.content_digest());
    descriptor
}

/// The tool that gives the skill's text, and its other files one by one.
fn guide(skill: &Skill, package: &Package) -> Descriptor {
    let id = ToolId::sanitized(&format!("skill.{}", skill.name));
    let mut one = base(skill, package, id, skill.description.clone());
    let files: Vec<&str> = files(package).collect();
    let mut properties = serde_json::Map::new();
    if !files.is_empty() {
        let description = "A file of the skill to read instead of its text.";
        properties.insert(
            "file".to_owned(),
            json!({"type": "string", "enum": files, "description": description}),
        );
    }
    one.schemas.input_schema = json!({
        "type": "object", "properties": properties, "additionalProperties": false,
    });
    one.effects.reads = vec![ResourcePattern::new(format!("{}/**", source_id(&skill.name)))];
    one.effects.idempotent = true;
    one.context_policy.expose_output_to_model = OutputExposure::Full;
    one.execution.adapter = "builtin:skill".to_owned();
    finished(one)
}

/// References and assets that are text.
fn files(package: &Package) -> impl Iterator<Item = &str> {
    package.paths().filter(|path| {
        !path.starts_with("scripts/")
            && *path != FILE
            && package.bytes(path).is_some_and(|bytes| media::binary(bytes, false).is_none())
    })
}

fn script(skill: &Skill, package: &Package, (path, id): (&str, ToolId)) -> Descriptor {
    let text = package.bytes(path).map(String::from_utf8_lossy).unwrap_or_default();
    let said = text.lines().filter(|line| !line.starts_with("#!"));
    let said = said.take(3).find_map(|line| {
        let line = line.trim();
        let told = line.strip_prefix('#').or_else(|| line.strip_prefix("//"))?.trim();
        (!told.is_empty()).then(|| told.to_owned())
    });
    let summary = said.unwrap_or_else(|| format!("Runs {path} of the skill {}.", skill.name));
    let mut one = base(skill, package, id, summary);
    one.intent.action_types = vec![ActionType::Execute];
    one.schemas.input_schema = json!({
        "type": "object",
        "properties": {"args": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The arguments of the script, in their order.",
        }},
        "additionalProperties": false,
    });
    one.effects = Effects {
        reads: vec![ResourcePattern::new("workspace:**")],
        writes: vec![ResourcePattern::new("workspace:**")],
        mutates_state: true,
        ..Effects::default()
    };
    one.risk.level = RiskLevel::Medium;
    one.permissions.approval_policy = ApprovalPolicy::Always;
    one.sandbox.mode = SandboxMode::WorkspaceWrite;
    one.execution.adapter = "cli".to_owned();
    let file = format!("{PLACE}{path}");
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let by = INTERPRETERS.iter().find(|(known, _)| *known == ending).map(|(_, by)| *by);
    one.execution.command =
        by.map(str::to_owned).into_iter().chain([file, "{args:option}".to_owned()]).collect();
    finished(one)
}
