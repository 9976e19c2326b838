//! What a program that is not part of the system has to read to start: the folder it is installed
//! in, and that of whatever interprets it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{find_program, system};
use crate::base::world::env_var;

/// How long a chain of interpreters may be.
const CHAIN: usize = 4;
/// The longest first line of a script, in bytes.
const SHEBANG: usize = 256;

/// Folders of the machine that a program needs, sorted; none of those that every sandbox shows. A
/// program whose place says nothing of an installation needs its own folder: never the home folder,
/// nor the root.
pub fn folders(program: &str) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut next = find_program(program);
    for _ in 0..CHAIN {
        let Some(path) = next.take() else { break };
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        found.extend([place(&path), real.clone()].iter().filter_map(|path| installed(path)));
        next = interpreter(&real);
    }
    found
}

/// Where a program stands: in a real folder, under the name it is called by, which may be a link.
pub fn place(program: &Path) -> PathBuf {
    let whole = std::path::absolute(program).unwrap_or_else(|_| program.to_owned());
    let folder = whole.parent().and_then(|folder| folder.canonicalize().ok());
    folder.zip(whole.file_name()).map_or_else(|| whole.clone(), |(folder, name)| folder.join(name))
}

/// The folder in which something is installed: what holds its `node_modules`, or its `bin`.
fn installed(file: &Path) -> Option<PathBuf> {
    if system::folders().any(|folder| file.starts_with(folder)) {
        return None;
    }
    let folder = file.parent()?;
    let modules = file.ancestors().filter(|path| path.ends_with("node_modules")).last();
    let bin = folder.parent().filter(|_| folder.ends_with("bin"));
    let home = env_var("HOME").map(PathBuf::from);
    let whole = modules.and_then(Path::parent).or(bin);
    let fits = |path: &&Path| path.parent().is_some() && home.as_deref() != Some(path);
    Some(whole.filter(fits).or(modules).unwrap_or(folder).to_owned())
}

/// What the first line of a script names; `env` is looked through.
fn interpreter(script: &Path) -> Option<PathBuf> {
    use std::io::Read;
    let mut start = Vec::new();
    let file = std::fs::File::open(script).ok()?;
    file.take(SHEBANG as u64).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let named = match Path::new(first).file_name()?.to_str()? {
        "env" => words.find(|word| !word.starts_with('-'))?,
        _ => first,
    };
    find_program(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_installed_is_found_with_what_interprets_it() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let make = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
            path.display().to_string()
        };
        let check = |program: &str, expected: &[&str]| {
            let expected: BTreeSet<PathBuf> = expected.iter().map(|path| root.join(path)).collect();
            assert_eq!(folders(program), expected, "{program}");
        };
        let python = make("python/bin/python3", "");
        let script = make("venv/bin/server", &format!("#!{python} -I\nprint()"));
        check(&script, &["venv", "python"]);
        let module = make("app/node_modules/@x/server/dist/index.js", "#!/usr/bin/env sh\n");
        check(&module, &["app"]);
        std::fs::create_dir_all(root.join("app/node_modules/.bin")).unwrap();
        let link = root.join("app/node_modules/.bin/server");
        std::os::unix::fs::symlink(&module, &link).unwrap();
        check(&link.display().to_string(), &["app"]);
        let alone = make("tools/one", "");
        check(&alone, &["tools"]);
        check("sh", &[]);
        check("/no/such/program", &[]);
        let circle = root.join("circle/bin/loop").display().to_string();
        make("circle/bin/loop", &format!("#!{circle}\n"));
        check(&circle, &["circle"]);
    }
}
