use super::*;
use crate::base::secret::SecretSet;

fn scrubbed(text: &str) -> String {
    SecretSet::default().scrub(text).into_owned()
}

#[test]
fn every_shape_compiles_and_begins_with_a_trigger() {
    let patterns = PATTERNS.as_ref().expect("a shape does not compile");
    assert_eq!(patterns.all.len(), SHAPES.len() + 1);
    assert!(key_end("-----END EC PRIVATE KEY-----").is_some());
}

/// Text, and what is left of it.
const FOUND: [(&str, &str); 42] = [
    ("-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n", "[redacted:private-key]\n"),
    ("a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "a\n[redacted:private-key]"),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nx", "[redacted:private-key]"),
    ("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nx", "[redacted:private-key]"),
    ("Authorization: Bearer abc", "Authorization: Bearer abc"),
    ("Authorization: Bearer abcd1", "Authorization: Bearer [redacted:authorization]"),
    ("authorization: basic dXNlcjpwYXNz\n", "authorization: basic [redacted:authorization]\n"),
    ("-H 'Authorization: token a1b2c3'", "-H 'Authorization: token [redacted:authorization]'"),
    (
        r#"{"Authorization":"Bearer a1b2"}"#,
        r#"{"Authorization":"Bearer [redacted:authorization]"}"#,
    ),
    ("with bearer a1b2c3d4e5f6a7b8 sent", "with bearer [redacted:authorization] sent"),
    ("sk-abcdefghijklmnopqrstuvwx", "[redacted:api-key]"),
    ("k=sk-proj-a1b2c3d4-e5f6a7b8_c9", "k=[redacted:api-key]"),
    ("sk-ant-api03-abcdefghij-klmnop", "[redacted:api-key]"),
    ("sk_live_a1b2c3d4e5f6", "[redacted:payment-key]"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted:github-token]"),
    ("gho_abcdefghijklmnopqrstuvwxyz0123456789.", "[redacted:github-token]."),
    ("github_pat_11ABCDEFG0abcdefghij_klmnop", "[redacted:github-token]"),
    ("xoxb-123456789012-abcdef", "[redacted:slack-token]"),
    ("xoxp-123456789012", "[redacted:slack-token]"),
    ("id AKIAIOSFODNN7EXAMPLE;", "id [redacted:aws-key];"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[redacted:google-key]"),
    ("glpat-abcdefghij0123456789", "[redacted:gitlab-token]"),
    ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted:registry-token]"),
    ("hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "[redacted:registry-token]"),
    ("eyJhbGciOi.eyJzdWIiOi.c2lnbm-_", "[redacted:jwt]"),
    ("password=hunter2", "password=[redacted:assignment]"),
    ("?token=abc123&x=1", "?token=[redacted:assignment]&x=1"),
    ("DB_PASSWORD=s3cr3t!#$ next", "DB_PASSWORD=[redacted:assignment] next"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7", "AWS_SECRET_ACCESS_KEY=[redacted:assignment]"),
    ("client_secret='abcdef'", "client_secret='[redacted:assignment]'"),
    ("apiKey: \"abcd-efgh\",", "apiKey: \"[redacted:assignment]\","),
    ("\"password\": \"ab\\\"cd\"", "\"password\": \"[redacted:assignment]\""),
    ("{\\\"token\\\": \\\"a1b2\\\"}", "{\\\"token\\\": \\\"[redacted:assignment]\\\"}"),
    ("password: hunter2\nuser: x", "password: [redacted:assignment]\nuser: x"),
    ("secret = a1b2c3d4e5\n", "secret = [redacted:assignment]\n"),
    ("--password=\"hunter2\"", "--password=\"[redacted:assignment]\""),
    ("Server=x;Password=abcd;", "Server=x;Password=[redacted:assignment];"),
    ("token=\"call password=hunter2 now\"", "token=\"call password=[redacted:assignment] now\""),
    ("postgres://user:pw@db:5432/x", "postgres://[redacted:userinfo]@db:5432/x"),
    ("https://x:a@b@host", "https://[redacted:userinfo]@host"),
    ("redis://:pass@host", "redis://[redacted:userinfo]@host"),
    ("git+ssh://a:b@h", "git+ssh://[redacted:userinfo]@h"),
];

#[test]
fn what_is_found() {
    for (text, expected) in FOUND {
        assert_eq!(scrubbed(text), expected, "{text}");
        assert_eq!(scrubbed(expected), expected, "again: {expected}");
    }
}

/// Code, documentation and data that look a little like secrets.
const ORDINARY: [&str; 45] = [
    "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "BEGIN PRIVATE KEY",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer YOUR_ACCESS_TOKEN",
    "basic authentication and bearer tokens are authorization schemes",
    "bearer authentication-information",
    "task-management-with-a-long-name",
    "class=\"sk-loading-spinner-container\"",
    "disk-0123456789abcdefgh",
    "npm_config_registry",
    "eyJ is how a JSON object begins in Base64",
    "let token = next_token();",
    "token=get_token()",
    "api_key=self.api_key,",
    "password=password",
    "secret=Secret::new(x)",
    "token=os.environ['X1']",
    "pub password: String,",
    "secret: Option<u64>,",
    "password = None",
    "token: identifier",
    "if token == \"abc def\"",
    "requests_token==1.2.3",
    "max_tokens=4096",
    "nextPageToken=CAESB1a2b3",
    "\"page_token\": \"a1b2c3d4\"",
    "\"token\": \"string\"",
    "\"password\": \"The user's password, at least 8\"",
    "{\"password\": {\"type\": \"string\"}}",
    "<input type=\"password\" name=\"p1234\">",
    "the secret: it was 1234 years ago",
    "password must have 8 characters",
    "token=$TOKEN secret=${SECRET1} api_key={key}",
    "password=****** token=xxxx",
    "api_key=YOUR_API_KEY",
    "https://user@host/path:80@x",
    "http://localhost:8080/a?b=c@d",
    "postgres://{user}:{password}@host",
    "ssh://git@github.com:22/x",
    "sha256:0123456789abcdef0123456789abcdef",
    "PWD=/home/user1",
    "what is the token limit? token: 4096",
    "AKIA is a prefix, asian too",
];

#[test]
fn what_is_left_alone() {
    for text in ORDINARY {
        assert_eq!(scrubbed(text), text);
    }
}

/// What is refused is not looked at again and again.
#[test]
fn hostile_text_costs_no_more_than_its_length() {
    let kinds = ["token=", "token=\"", "sk-", "://:", "bearer ", "-----BEGIN ", "eyJ.", "token=a("];
    for kind in kinds {
        let text = format!("{}(", kind.repeat((1 << 18) / kind.len()));
        assert!(scrubbed(&text).len() <= text.len() * 8, "{kind}");
    }
}

#[test]
fn beginnings_reach_the_end() {
    let begun = |text: &str| super::begun(text);
    assert_eq!(begun("a -----BEG"), Some(2));
    assert_eq!(begun("a passw"), Some(2));
    assert_eq!(begun("a password = \"hun"), Some(2));
    assert_eq!(begun("a password by"), None);
    assert_eq!(begun("see https://host"), Some(9));
    assert_eq!(begun("see https://host/"), None);
}
