//! A client of one MCP server over streamable HTTP, as the conformance suite of the protocol drives
//! one: it connects, lists, calls each tool once and says goodbye. `tests/mcp-conformance.sh` runs
//! the suite.
//!
//! ```text
//! cargo run --example mcp_client -- http://127.0.0.1:3000/mcp
//! ```

use std::error::Error;
use std::io::Write;
use std::time::Duration;

use proofmark::runtime::mcp::{Allows, Deadlines, Link, Patience, parse_server};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("name the server: mcp_client URL")?;
    let deadlines = Deadlines { start: Duration::from_secs(10), ..Deadlines::default() };
    let link =
        Link::open(&parse_server(&address)?, Allows { elicitation: true }, &deadlines).await?;
    let mut out = std::io::stdout();
    for tool in link.tools(deadlines.request).await? {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let patience = Patience { idle: Duration::from_secs(20), total: Duration::from_secs(60) };
        let answer = link.call(name, arguments(&tool), patience, &Notify::new()).await;
        match answer {
            Ok(result) => writeln!(out, "{name}: {}", Value::Object(result))?,
            Err(error) => writeln!(out, "{name}: {error}")?,
        }
    }
    link.close().await;
    Ok(())
}

/// Something of each required kind.
fn arguments(tool: &Value) -> Map<String, Value> {
    let schema = tool.get("inputSchema");
    let names = schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    let value = |name: &str| {
        let kind = schema?.pointer(&format!("/properties/{name}/type"))?.as_str()?;
        Some(match kind {
            "number" | "integer" => json!(2),
            "boolean" => json!(true),
            "array" => json!([]),
            "object" => json!({}),
            _ => json!("text"),
        })
    };
    let required = names.into_iter().flatten().filter_map(Value::as_str);
    required.filter_map(|name| Some((name.to_owned(), value(name)?))).collect()
}
