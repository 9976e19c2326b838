//! Whether what is assigned to a name like `password` is a secret at all. Code, templates and
//! documentation are full of such names, and a value replaced there by mistake misleads.

/// How a value is written beside its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// In quotes.
    Quoted,
    /// `name=value`.
    Tight,
    /// `name = value` or `name: value`, alone to the end of its line.
    Loose,
}

/// How names of secrets end, in lower case.
pub(super) const NAMES: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authkey",
];

/// What `...token` means that opens nothing: pages, places in a stream, words of a language model.
const OTHER_TOKENS: [&str; 23] = [
    "next",
    "page",
    "prev",
    "sync",
    "cursor",
    "continuation",
    "pagination",
    "start",
    "resume",
    "scroll",
    "delta",
    "max",
    "min",
    "num",
    "total",
    "per",
    "cancel",
    "cancellation",
    "stop",
    "eos",
    "bos",
    "pad",
    "unk",
];

/// Values that are words about a value.
const WORDS: [&str; 41] = [
    "true",
    "false",
    "null",
    "none",
    "undefined",
    "string",
    "text",
    "number",
    "integer",
    "bool",
    "boolean",
    "object",
    "array",
    "required",
    "optional",
    "default",
    "auto",
    "bearer",
    "basic",
    "digest",
    "oauth",
    "oauth2",
    "hidden",
    "masked",
    "redacted",
    "secret",
    "token",
    "password",
    "passwd",
    "passphrase",
    "enabled",
    "disabled",
    "empty",
    "unset",
    "missing",
    "invalid",
    "expired",
    "unknown",
    "authentication",
    "authorization",
    "credentials",
];

/// The letters and digits of a name, in lower case.
fn folded(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether a whole name is that of a secret.
pub(super) fn names_secret(name: &str) -> bool {
    let folded = folded(name);
    let plain = !folded
        .strip_suffix("token")
        .is_some_and(|stem| OTHER_TOKENS.iter().any(|other| stem.ends_with(other)));
    plain && NAMES.iter().any(|end| folded.ends_with(end))
}

/// Whether the value of such a name looks like one.
pub(super) fn credible(name: &str, value: &str, form: Form) -> bool {
    let chars = value.chars().count();
    if chars < 4 || !names_secret(name) || stands_for_another(value) {
        return false;
    }
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        return !folded(name).ends_with("token") && (form == Form::Tight || chars >= 6);
    }
    match form {
        Form::Quoted => !value.contains(char::is_whitespace) && folded(value) != folded(name),
        Form::Tight => !refers(value),
        Form::Loose => {
            let least = if folded(name).contains("pass") { 6 } else { 8 };
            chars >= least && mixed(value)
        }
    }
}

/// A template, a word, a mark or a row of stars: no value of its own.
pub(super) fn stands_for_another(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let variable = value.strip_prefix('$').is_some_and(|name| {
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    });
    let filler = |c: char| matches!(c, '*' | '•' | 'x' | 'X' | '.' | '…' | '-' | '_' | '#' | '?');
    variable
        || value.starts_with(['<', '{', '[', '%'])
        || ["${", "{{", "$(", "...", "your", "example", "placeholder"]
            .iter()
            .any(|m| lower.contains(m))
        || value.chars().all(filler)
        || WORDS.contains(&lower.trim_end_matches('='))
}

/// A name of code rather than a value: `self.token`, `api_key`, `Config::secret`.
pub(super) fn refers(value: &str) -> bool {
    let of_name = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '.' | '-' | ':');
    let is_name = |part: &str| {
        let part = part.to_ascii_lowercase();
        ["key", "pass", "credential", "credentials"].contains(&part.as_str())
            || NAMES.iter().any(|end| part.ends_with(end))
    };
    value.chars().all(of_name) && value.split(['_', '.', '-', ':']).any(is_name)
}

/// Letters and digits both: no word of a language.
pub(super) fn mixed(value: &str) -> bool {
    value.contains(|c: char| c.is_ascii_digit()) && value.contains(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["password", "DB_PASSWORD", "accessToken", "x-api-key", "client.secret"] {
            assert!(names_secret(name), "{name}");
        }
        for name in ["nextPageToken", "max_token", "tokens", "passwords", "key", "secretName"] {
            assert!(!names_secret(name), "{name}");
        }
    }

    #[test]
    fn values_that_are_secrets() {
        let cases = [
            ("password", "hunter2", Form::Quoted),
            ("password", "hunter2", Form::Tight),
            ("password", "hunter2", Form::Loose),
            ("password", "correct-horse", Form::Tight),
            ("token", "a1b2c3d4", Form::Loose),
            ("password", "123456", Form::Loose),
            ("secret", "my-secret-token", Form::Quoted),
        ];
        for (name, value, form) in cases {
            assert!(credible(name, value, form), "{name} {value} {form:?}");
        }
    }

    #[test]
    fn values_that_are_none() {
        let cases = [
            ("password", "abc", Form::Tight),
            ("password", "The user's own", Form::Quoted),
            ("password", "$DB_PASSWORD", Form::Tight),
            ("password", "${PASS1}", Form::Quoted),
            ("token", "self.token", Form::Tight),
            ("password", "form.password.data", Form::Tight),
            ("api_key", "sk-...", Form::Quoted),
            ("api_key", "YOUR_API_KEY", Form::Quoted),
            ("token", "String", Form::Quoted),
            ("token", "4096", Form::Tight),
            ("token", "********", Form::Tight),
            ("token", "[redacted]", Form::Quoted),
            ("token", "identifier", Form::Loose),
            ("next_token", "CAESB1a2b3c4", Form::Quoted),
        ];
        for (name, value, form) in cases {
            assert!(!credible(name, value, form), "{name} {value} {form:?}");
        }
    }
}
