//! The file tools. They act for real, inside the workspace.

use serde_json::Value;

use similar::TextDiff;

use super::operand_of;
use super::ran::{PreImage, Ran};
use super::ready::Ready;
use super::workspace::{Workspace, WorkspaceError};
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::Blame;
use crate::runtime::catalog::source::skill::{FILE, teach};
use crate::runtime::sandbox::adapter::Builtin;

/// Runs one file tool.
pub fn run(builtin: Builtin, ready: &Ready, workspace: &mut Workspace) -> Ran {
    let args = ready.args();
    let result = match builtin {
        Builtin::FileRead => read(args, workspace),
        Builtin::FileList => list(args, workspace),
        Builtin::FileSearch => search(args, workspace),
        Builtin::FileWrite => write(args, workspace),
        Builtin::FilePatch => patch(args, workspace),
        Builtin::FileDelete => delete(args, workspace),
        Builtin::Skill => return skill(ready),
        Builtin::CommandRun | Builtin::Shell | Builtin::ToolSearch | Builtin::Delegate => {
            return Ran::failed(Blame::Tool, "wrong_adapter", "this is no file tool");
        }
    };
    result.unwrap_or_else(|error| Ran::failed(Blame::Tool, error.code(), error.to_string()))
}

/// A skill teaches: its text becomes the result, and nothing else comes of it.
fn skill(ready: &Ready) -> Ran {
    let Some(package) = &ready.plan().package else {
        return Ran::failed(Blame::Environment, "no_package", "the skill is not here");
    };
    let file = ready.args().get("file").and_then(Value::as_str);
    match teach(package, file) {
        Some(text) => {
            let read = format!("{}/{}", package.id, file.unwrap_or(FILE));
            Ran::ok(text, ObservedEffects { reads: vec![read], ..seen() })
        }
        None => Ran::failed(Blame::Model, "no_such_file", "the skill has no such text"),
    }
}

fn text<'a>(args: &'a Value, name: &str) -> &'a str {
    args.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn seen() -> ObservedEffects {
    ObservedEffects { method: "workspace".to_owned(), ..ObservedEffects::default() }
}

fn resource(path: &str) -> String {
    format!("workspace:{}", path.trim_start_matches("./"))
}

fn read(args: &Value, workspace: &mut Workspace) -> Result<Ran, WorkspaceError> {
    let path = text(args, "path");
    let content = workspace.read(path)?;
    Ok(Ran::ok(content, ObservedEffects { reads: vec![resource(path)], ..seen() }))
}

fn list(args: &Value, workspace: &mut Workspace) -> Result<Ran, WorkspaceError> {
    let path = text(args, "path");
    let names = workspace.list(path, false)?;
    let effects = ObservedEffects { reads: vec![resource(path)], ..seen() };
    Ok(Ran::ok(names.join("\n"), effects))
}

fn search(args: &Value, workspace: &mut Workspace) -> Result<Ran, WorkspaceError> {
    let query = text(args, "query");
    let (mut lines, mut reads) = (Vec::new(), Vec::new());
    for path in workspace.list(text(args, "path"), true)? {
        // A file that cannot be read (a link that leads out) is not searched.
        let Ok(content) = workspace.read(&path) else { continue };
        for (index, line) in content.lines().enumerate() {
            if line.contains(query) {
                lines.push(format!("{path}:{}: {line}", index + 1));
            }
        }
        reads.push(resource(&path));
    }
    Ok(Ran::ok(lines.join("\n"), ObservedEffects { reads, ..seen() }))
}

/// A pre-image is kept of files up to so many bytes.
pub const PRE_IMAGE_BYTES: usize = 1 << 20;

/// What is there before a change; `None` where it cannot be kept: too much of it, or no text.
fn before(path: &str, workspace: &mut Workspace) -> Option<Option<String>> {
    match workspace.bytes(path) {
        Ok(bytes) if bytes.len() <= PRE_IMAGE_BYTES => String::from_utf8(bytes).ok().map(Some),
        Err(error) if error.code() == "not_found" => Some(None),
        Ok(_) | Err(_) => None,
    }
}

/// What a file tool would change, found without changing it: the unified diff of its file. A call
/// that would fail says how.
pub fn rehearse(
    builtin: Builtin,
    args: &Value,
    workspace: &mut Workspace,
) -> Result<String, String> {
    let path = text(args, "path");
    let old = match before(path, workspace) {
        Some(old) => old,
        None => return Err(format!("{path} is too long, or no text")),
    };
    let new = match builtin {
        Builtin::FileWrite => Some(text(args, "content").to_owned()),
        Builtin::FilePatch => {
            let old = old.as_deref().ok_or_else(|| format!("{path} does not exist"))?;
            Some(patched(path, old, args).map_err(|(_, message)| message)?)
        }
        _ if old.is_none() => return Err(format!("{path} does not exist")),
        _ => None,
    };
    Ok(diff(path, old.as_deref(), new.as_deref()))
}

/// A unified diff; `None` where there is no file.
fn diff(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    let name = |side: &str, text: Option<&str>| match text {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (from, to) = (name("a", old), name("b", new));
    let lines = TextDiff::from_lines(old.unwrap_or_default(), new.unwrap_or_default());
    lines.unified_diff().context_radius(3).header(&from, &to).to_string()
}

fn pre_image(
    path: &str,
    before: Option<Option<String>>,
    left: Option<&str>,
) -> Option<Box<PreImage>> {
    let left = operand_of(left.map(|left| (path, left.to_owned())).into_iter());
    before.map(|before| Box::new(PreImage { path: path.to_owned(), before, left }))
}

fn write(args: &Value, workspace: &mut Workspace) -> Result<Ran, WorkspaceError> {
    let (path, content) = (text(args, "path"), text(args, "content"));
    let before = before(path, workspace);
    workspace.write(path, content)?;
    let effects = ObservedEffects { writes: vec![resource(path)], ..seen() };
    let diff = before.as_ref().map(|old| diff(path, old.as_deref(), Some(content)));
    let before = pre_image(path, before, Some(content));
    Ok(Ran { before, diff, ..Ran::ok(format!("wrote {path}"), effects) })
}

fn patch(args: &Value, workspace: &mut Workspace) -> Result<Ran, WorkspaceError> {
    let path = text(args, "path");
    let content = workspace.read(path)?;
    let reads = vec![resource(path)];
    let patched = match patched(path, &content, args) {
        Ok(patched) => patched,
        Err((code, message)) => {
            let effects = ObservedEffects { reads, ..seen() };
            return Ok(Ran { effects, ..Ran::failed(Blame::Model, code, message) });
        }
    };
    let before = before(path, workspace);
    workspace.write(path, &patched)?;
    let effects = ObservedEffects { writes: reads.clone(), reads, ..seen() };
    let diff = Some(diff(path, Some(&content), Some(&patched)));
    let before = pre_image(path, before, Some(&patched));
    Ok(Ran { before, diff, ..Ran::ok(format!("patched {path}"), effects) })
}

/// A text with what is to be found in it replaced; a code and what is wrong where it does not
/// stand there exactly once.
fn patched(path: &str, content: &str, args: &Value) -> Result<String, (&'static str, String)> {
    let find = text(args, "find");
    match content.matches(find).count() {
        _ if find.is_empty() => Err(("empty_find", "`find` is empty".to_owned())),
        1 => Ok(content.replacen(find, text(args, "replace"), 1)),
        count => {
            let message = format!("`find` occurs {count} times in {path}; it must occur once");
            Err(("ambiguous_find", message))
        }
    }
}

fn delete(args: &Value, workspace: &mut Workspace) -> Result<Ran, WorkspaceError> {
    let path = text(args, "path");
    if args.get("dry_run") == Some(&Value::Bool(true)) {
        workspace.read(path)?;
        let effects = ObservedEffects { reads: vec![resource(path)], ..seen() };
        return Ok(Ran::ok(format!("would delete {path}"), effects));
    }
    let before = before(path, workspace);
    workspace.remove(path)?;
    let effects = ObservedEffects { deletes: vec![resource(path)], ..seen() };
    let diff = before.as_ref().map(|old| diff(path, old.as_deref(), None));
    let before = pre_image(path, before, None);
    Ok(Ran { before, diff, ..Ran::ok(format!("deleted {path}"), effects) })
}
