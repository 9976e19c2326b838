//! Judging lists of tools by all rules, at the levels that somebody asked for.

use std::collections::BTreeMap;

use serde_json::Value;

use super::registry;
use super::rule::{Found, Judge, Level, Place, Profile, Rule};
use super::rules::document;
use super::subject::Server;
use crate::base::problem::nearest;

/// Which level each rule has.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Levels {
    asked: BTreeMap<&'static str, Level>,
    profiles: Vec<Profile>,
}

impl Levels {
    /// Sets the level of one rule. A rule about a provider is then judged without its profile.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub fn set(&mut self, name: &str, level: Level) -> Result<(), String> {
        let Some(rule) = registry::rule(name) else {
            let near = nearest(name, registry::rules().map(|rule| rule.name));
            let help = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(format!("there is no rule `{}`{help}", name.escape_debug()));
        };
        self.asked.insert(rule.name, level);
        Ok(())
    }

    /// Judges the facts of a provider too.
    pub fn profile(&mut self, profile: Profile) {
        self.profiles.push(profile);
    }

    /// The level of a rule.
    pub fn of(&self, rule: &Rule) -> Level {
        let asked_for = rule.profiles.is_empty()
            || rule.profiles.iter().any(|profile| self.profiles.contains(profile));
        match self.asked.get(rule.name) {
            Some(level) => *level,
            None if asked_for => rule.level,
            None => Level::Off,
        }
    }
}

/// One thing that is wrong with one tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// How much it matters here.
    pub level: Level,
    /// Which server.
    pub server: usize,
    /// Which of its tools.
    pub tool: usize,
    /// Where in the tool.
    pub place: Place,
    /// What, a lower-case fragment.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// Everything that the rules find, by server and tool, the worst of a tool first.
pub fn check(servers: &[Server], levels: &Levels) -> Vec<Finding> {
    let mut out = Vec::new();
    for rule in registry::rules() {
        if levels.of(rule) == Level::Off {
            continue;
        }
        let mut add = |server, tool, found| out.push(finding(rule, levels, (server, tool), found));
        match rule.judge {
            Judge::Tool(judge) => {
                for (number, server) in servers.iter().enumerate() {
                    for (index, tool) in server.tools.iter().enumerate() {
                        judge(tool, server).into_iter().for_each(|found| add(number, index, found));
                    }
                }
            }
            Judge::Server(judge) => {
                for (number, server) in servers.iter().enumerate() {
                    judge(server).into_iter().for_each(|(index, found)| add(number, index, found));
                }
            }
            Judge::Several(judge) => {
                judge(servers)
                    .into_iter()
                    .for_each(|(number, index, found)| add(number, index, found));
            }
            Judge::Elsewhere(_) => {}
        }
    }
    sort(&mut out);
    out
}

/// The findings of `no-golden-prompt`: `prompts` counts golden prompts by tool id.
pub fn unprompted(
    (number, server): (usize, &Server),
    prompts: &BTreeMap<String, usize>,
    levels: &Levels,
) -> Vec<Finding> {
    made("no-golden-prompt", number, document::unprompted(server, prompts), levels)
}

/// The findings of `unstable-definition`, from the tools of two starts of a server.
pub fn unstable(number: usize, starts: [&[Value]; 2], levels: &Levels) -> Vec<Finding> {
    made("unstable-definition", number, document::unstable(starts[0], starts[1]), levels)
}

fn made(name: &str, number: usize, found: Vec<(usize, Found)>, levels: &Levels) -> Vec<Finding> {
    let rule = registry::rule(name).filter(|rule| levels.of(rule) != Level::Off);
    let Some(rule) = rule else { return Vec::new() };
    found.into_iter().map(|(tool, found)| finding(rule, levels, (number, tool), found)).collect()
}

fn finding(
    rule: &'static Rule,
    levels: &Levels,
    (server, tool): (usize, usize),
    found: Found,
) -> Finding {
    let level = levels.of(rule);
    Finding {
        rule,
        level: if found.mild { level.milder() } else { level },
        server,
        tool,
        place: found.place,
        message: found.message,
        help: found.help.unwrap_or_else(|| rule.fix.to_owned()),
    }
}

/// By server and tool, the worst first.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|one| (one.server, one.tool, std::cmp::Reverse(one.level)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_asked_for_by_name_and_a_profile_turns_its_rules_on() {
        let mut levels = Levels::default();
        let level = |levels: &Levels, name: &str| levels.of(registry::rule(name).unwrap());
        assert_eq!(level(&levels, "null-default"), Level::Warning);
        assert_eq!(level(&levels, "gemini-const"), Level::Off);
        levels.set("null-default", Level::Error).unwrap();
        levels.profile(Profile::parse("gemini@2026-11").unwrap());
        assert_eq!(level(&levels, "null-default"), Level::Error);
        assert_eq!(level(&levels, "gemini-const"), Level::Warning);
        assert_eq!(level(&levels, "strict-format"), Level::Off);
        levels.set("strict-format", Level::Info).unwrap();
        assert_eq!(level(&levels, "strict-format"), Level::Info);
        let wrong = levels.set("nul-default", Level::Off).unwrap_err();
        assert_eq!(wrong, "there is no rule `nul-default`; did you mean `null-default`?");
    }
}
