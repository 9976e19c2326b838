//! What the name of a tool says: its words, and the action that a word among them stands for.

use super::effect::ActionType;

/// Verbs that read whatever they stand with.
pub const SAFE: [&str; 11] = [
    "get", "list", "read", "search", "find", "show", "view", "describe", "lookup", "count",
    "whoami",
];

/// The action a word stands for when it is a verb. A word that is as often a noun (`post`,
/// `report`, `order`) is here only where taking it for a verb is the stricter reading.
pub fn verb(word: &str) -> Option<ActionType> {
    Some(match word {
        "get" | "read" | "show" | "view" | "fetch" | "retrieve" | "download" | "export" | "cat"
        | "load" | "open" => ActionType::Read,
        "search" | "find" | "query" | "lookup" | "grep" | "browse" | "discover" => {
            ActionType::Search
        }
        "list" | "describe" | "inspect" | "check" | "count" | "whoami" | "status" | "explain"
        | "diff" | "compare" | "validate" | "verify" | "preview" => ActionType::Inspect,
        "analyze" | "analyse" | "calculate" | "compute" | "estimate" => ActionType::Compute,
        "convert" | "transform" | "format" | "translate" | "sort" => ActionType::Transform,
        "generate" | "summarize" | "summarise" => ActionType::Generate,
        "create" | "add" | "write" | "insert" | "put" | "save" | "store" | "upload" | "append"
        | "copy" | "move" | "fork" | "clone" | "import" | "push" | "commit" | "register"
        | "upsert" | "new" | "duplicate" | "attach" | "link" => ActionType::Write,
        "update" | "edit" | "modify" | "patch" | "rename" | "change" | "replace" | "set"
        | "merge" | "toggle" | "mark" | "assign" | "detach" | "unlink" | "archive" | "restore" => {
            ActionType::Patch
        }
        "run" | "execute" | "exec" | "eval" | "evaluate" | "invoke" | "call" | "trigger"
        | "start" | "stop" | "restart" | "click" | "navigate" | "apply" => ActionType::Execute,
        "send" | "reply" | "forward" | "publish" | "notify" | "email" | "tweet" | "post"
        | "share" | "invite" | "comment" | "submit" => ActionType::ExternalSend,
        "delete" | "remove" | "drop" | "destroy" | "purge" | "clear" | "erase" | "truncate"
        | "uninstall" | "terminate" | "kill" | "wipe" | "unpublish" | "del" | "rm" => {
            ActionType::Delete
        }
        "deploy" | "release" | "rollback" | "promote" => ActionType::Deploy,
        "pay" | "buy" | "purchase" | "refund" | "charge" | "checkout" | "transfer" => {
            ActionType::Purchase
        }
        "grant" | "revoke" | "ban" | "unban" | "suspend" | "impersonate" => ActionType::Admin,
        "login" | "logout" | "authenticate" | "authorize" => ActionType::Auth,
        _ => return None,
    })
}

/// The words of a name in lower case: `getHTTPStatus_v2` has `get`, `http`, `status` and `v2`.
pub fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let characters: Vec<char> = name.chars().collect();
    for (index, &c) in characters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|i| characters.get(i)).copied();
        let after = characters.get(index + 1).copied();
        let hump = c.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || (before.is_uppercase() && after.is_some_and(char::is_lowercase))
            });
        if (hump || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_words() {
        let check = |name: &str, expected: &[&str]| assert_eq!(words(name), expected, "{name}");
        check("getHTTPStatus_v2", &["get", "http", "status", "v2"]);
        check("browser-tab.close", &["browser", "tab", "close"]);
        check("S3List", &["s3", "list"]);
        check("ÄnderungLesen", &["änderung", "lesen"]);
        check("__", &[]);
    }
}
