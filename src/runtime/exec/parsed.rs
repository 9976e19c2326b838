//! Output as its descriptor says it is read.

use serde_json::Value;

use super::Ran;
use crate::journal::outcome::{Blame, Fault};
use crate::tool::sections::OutputParser;

/// Reads the output of a success as its descriptor says. What is no JSON is a failure of the
/// tool; the output is kept beside it.
pub(super) fn parsed(ran: Ran, text: &str, parser: OutputParser) -> Ran {
    if ran.fault.is_some() {
        return ran;
    }
    let read = match parser {
        OutputParser::Text => return ran,
        OutputParser::Json => serde_json::from_str(text),
        OutputParser::Jsonl => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            lines.map(serde_json::from_str).collect::<Result<Vec<Value>, _>>().map(Value::Array)
        }
    };
    match read {
        Ok(value) => Ran { structured: Some(value), ..ran },
        Err(error) => {
            let message = format!("the output is not what its parser reads: {error}");
            let code = "output_parser".to_owned();
            Ran { fault: Some(Fault { blame: Blame::Tool, code, message }), ..ran }
        }
    }
}
