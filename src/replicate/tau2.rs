//! tau2-bench: an expected action was taken when any call has its name and the same arguments, of
//! those that are compared: all of the call's own where nothing is said, none where none are named.

use serde::Deserialize;

use super::python::Py;
use super::{Replica, Set, Source, read};
use crate::base::problem::Problem;

#[derive(Deserialize)]
struct Results {
    simulations: Vec<Simulation>,
}

#[derive(Deserialize)]
struct Simulation {
    task_id: String,
    #[serde(default)]
    trial: Option<u64>,
    reward_info: Option<Reward>,
    #[serde(default)]
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Reward {
    action_checks: Option<Vec<Check>>,
}

#[derive(Deserialize)]
struct Check {
    action: Action,
    action_match: bool,
}

#[derive(Deserialize)]
struct Action {
    action_id: String,
    name: String,
    arguments: Py,
    compare_args: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Message {
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    name: String,
    arguments: Py,
}

pub(super) fn run(set: &Set, source: &Source) -> Result<Replica, Problem> {
    let files = match &source.replay {
        Some(path) => vec![path.clone()],
        None => read::files(&source.file("tau2-bench/results"), &[".json", ".json.gz"])?,
    };
    let mut out = Replica::of(set);
    for path in files {
        let model = read::stem(&path, "", ".json.gz").to_owned();
        for one in read::json::<Results>(&path)?.simulations {
            let calls: Vec<&Call> =
                one.messages.iter().filter_map(|it| it.tool_calls.as_ref()).flatten().collect();
            let checks = one.reward_info.and_then(|info| info.action_checks).unwrap_or_default();
            for check in checks {
                let taken = calls.iter().any(|call| fits(call, &check.action));
                let trial = one.trial.map(|trial| format!("#{trial}")).unwrap_or_default();
                let id = format!("{}{trial} {}", one.task_id, check.action.action_id);
                let published = check.action_match.to_string();
                out.verdict((&id, &model), &published, &taken.to_string());
            }
        }
    }
    Ok(out)
}

fn fits(call: &Call, action: &Action) -> bool {
    let own =
        || call.arguments.pairs().unwrap_or_default().iter().filter_map(|(key, _)| key.as_str());
    let compared: Vec<&str> = match &action.compare_args {
        Some(names) => names.iter().map(String::as_str).collect(),
        None => own().collect(),
    };
    let same = |key: &&str| call.arguments.get(key) == action.arguments.get(key);
    call.name == action.name && compared.iter().all(same)
}
