//! A skill's folder, read whole: its files and the tools that they make.

use std::path::Path;

use super::read::{folder_bytes, normal, shown};
use crate::base::problem::{Position, Problem};
use crate::runtime::catalog::source::Imported;
use crate::runtime::catalog::source::skill::{self, FILE};
use crate::runtime::sandbox::package::Package;
use crate::tool::skill::Skill;

/// The most files of a skill, and the most bytes of all of them together: 16 MiB.
const MOST: (usize, u64) = (1_000, 16 << 20);

/// Reads a skill.
///
/// # Errors
/// All that is wrong with it, each with its place.
pub fn read(folder: &Path) -> Result<(Package, Imported), Vec<Problem>> {
    let fail = |message: String| {
        let help = format!("a skill is a folder with a {FILE}");
        vec![Problem::new(shown(folder), Position::default(), message).help(help)]
    };
    let files = folder_bytes(folder, MOST).map_err(|error| fail(error.to_string()))?;
    let manifest = files.get(FILE).ok_or_else(|| fail(format!("it has no {FILE}")))?;
    let file = shown(&folder.join(FILE));
    let text = std::str::from_utf8(manifest)
        .map_err(|_| vec![Problem::new(&*file, Position::default(), "not UTF-8")])?;
    let place = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let place = normal(&place);
    let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let skill = Skill::parse(&file, text, &name)?;
    let package = Package::new(skill::source_id(&skill.name), files);
    let imported = skill::import(&skill, &package);
    Ok((package, imported))
}
