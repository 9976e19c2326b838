//! What may run, and where it may write.

use std::fs;
use std::os::unix::fs::symlink;

use proofmark::journal::Event;
use proofmark::runtime::exec::Workspace;

use super::Row;
use super::record::{count, outcomes, shown, starts};
use super::scene::{Play, ask, builtin, say};
use crate::tools::tool;

pub const ROWS: &[Row] = &[
    ("B079", || {
        let rules = "schema: proofmark/rules@1\nrules:\n  - {id: everything, decision: allow, \
                     reason: full autonomy, when: {tools: ['*']}, examples: [{tool: t.L4}]}\n";
        let levels = ["L0", "L1", "L2", "L3", "L4", "L5"];
        let tools: Vec<_> = levels.iter().map(|l| tool(&format!("t.{l}"), l, "")).collect();
        let names = levels.map(|level| format!("t_{level}"));
        let list: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "{}")).collect();
        let play = Play::new(tools, vec![ask(&list), say("ok")]);
        let played = Play { rules, ..play }.ends();
        assert!(outcomes(&played.journal).iter().all(|end| end.ends_with("succeeded")));
        assert_eq!(count(&played.journal, "ApprovalRequested"), 0);
        let decided = played.journal.entries().iter().filter_map(|entry| match &entry.event {
            Event::ToolPolicyChecked(fact) => Some(fact.rules.clone()),
            _ => None,
        });
        assert!(decided.into_iter().all(|rules| rules == ["everything"]), "each names the rule");
    }),
    ("B081", || {
        for existing in [true, false] {
            let outside = tempfile::tempdir().unwrap();
            let target = outside.path().join("plan.md");
            if existing {
                fs::write(&target, "old text").unwrap();
            }
            let mut workspace = Workspace::default();
            symlink(&target, workspace.root().unwrap().join("plan.md")).unwrap();
            let args = "{\"path\":\"plan.md\",\"content\":\"new text\"}";
            let script = vec![ask(&[("file_write", args)]), say("ok")];
            let play = Play::new(vec![builtin("file.write", "L2")], script);
            let played = Play { workspace, ..play }.ends();
            assert_eq!(outcomes(&played.journal), ["file_write failed:path_outside"]);
            let after = existing.then(|| "old text".to_owned());
            assert_eq!(fs::read_to_string(&target).ok(), after, "nothing is written there");
        }
    }),
    ("B139", || {
        let outside = tempfile::tempdir().unwrap();
        let profile = outside.path().join(".profile");
        fs::write(&profile, "old").unwrap();
        let climb = format!("{}{}", "../".repeat(20), profile.display());
        for path in [profile.to_str().unwrap(), climb.as_str(), "a/../../x"] {
            for (tool, more) in [
                ("file.write", "\"content\":\"x\""),
                ("file.patch", "\"find\":\"old\",\"replace\":\"x\""),
                ("file.delete", "\"dry_run\":false"),
            ] {
                let (name, args) =
                    (tool.replace('.', "_"), format!("{{\"path\":\"{path}\",{more}}}"));
                let script = vec![ask(&[(&name, &args)]), say("ok")];
                let played = Play::new(vec![builtin(tool, "L2")], script).ends();
                assert_eq!(outcomes(&played.journal), [format!("{name} failed:path_outside")]);
                assert_eq!(fs::read_to_string(&profile).unwrap(), "old");
            }
        }
    }),
    ("B241", || {
        let status = |status: &str| format!("lifecycle: {{status: {status}}}\n");
        for (grab, excluded) in [
            (tool("web.grab", "L3", &status("disabled")), &[][..]),
            (tool("web.grab", "L3", &status("blocked")), &[]),
            (tool("web.grab", "L3", ""), &["web.grab"]),
        ] {
            // It could be called before; now the model only remembers it.
            let tools = vec![tool("note.add", "L2", ""), grab];
            let script = vec![ask(&[("web_grab", "{}"), ("web.grab", "{}")]), say("ok")];
            let played = Play { excluded, ..Play::new(tools, script) }.ends();
            for place in 0..2 {
                assert!(outcomes(&played.journal)[place].contains("unavailable"));
                assert!(shown(&played.journal, place).starts_with("there is no tool `web"));
                assert_eq!(starts(&played.journal, place), 0);
            }
        }
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}
