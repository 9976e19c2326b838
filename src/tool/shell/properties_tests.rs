#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

/// Pieces of lines, and whatever else there is.
fn lines() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            " ", " ", "\n", ";", "&", "&&", "||", "|", "(", ")", "{", "}", "$(", "`", "\"", "'",
            "<", ">", "<<E\n", "\nE\n", "<<'E'\n", "<(", ">(", "$", "${", "$'", "\\", "\\\n", "#",
            "if ", "then ", "fi", "for x in ", "do ", "done", "case x in ", "a)", ";;", "esac",
            "function f ", "f() ", "x=", "ls", "rm x", "sh -c ", "env ", "eval ", "xargs ",
            "find . -exec ", "\\;", "[[ ", " ]]", "((", "))", "1", "*", "~", "!", "&>", "<<<",
            "\u{2003}", "\0", "\u{202e}", "é", "time ", "-", "--",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => "[ -~]{0,8}",
        1 => "<<-?['\"]?[a-zA-Z]{1,300}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Where a command can stand; apart from brackets, of which two are arithmetic.
const PLACES: [&str; 44] = [
    "C",
    "ls; C",
    "ls && C",
    "ls || C",
    "ls | C",
    "ls & C",
    "C &",
    "ls\nC",
    "( C)",
    "{ C; }",
    "! C",
    "if C; then ls; fi",
    "if ls; then C; fi",
    "if ls; then ls; else C; fi",
    "while C; do ls; done",
    "until ls; do C; done",
    "for i in a; do C; done",
    "for i in $( C); do ls; done",
    "case a in a) C;; esac",
    "case $( C) in a) ls;; esac",
    "ls $( C)",
    "ls `C`",
    "ls \"$( C)\"",
    "ls <( C)",
    "ls >( C)",
    "A=$( C)",
    "A=$( C) ls",
    "f() { C; }",
    "function f { C; }",
    "cat <<E\n$( C)\nE",
    "cat <<E | C\nx\nE",
    "ls > $( C)",
    "ls < x; C > y",
    "env C",
    "nice -n 5 C",
    "nohup C",
    "timeout 5 C",
    "ls | xargs C",
    "sudo -u bob C",
    "exec C",
    "find . -exec C \\;",
    "[[ -f $( C) ]]",
    "ls $((1 + $( C)))",
    "ls ${x:-$( C)}",
];

/// Where the text of a command can stand, in quotes.
const TEXTS: [&str; 5] = ["sh -c 'C'", "bash -ec 'C'", "eval 'C'", "trap 'C' EXIT", "alias a='C'"];

proptest! {
    #[test]
    fn any_line_has_parts_that_end(line in lines()) {
        let read = parse(&line);
        prop_assert!((1..=MOST_PARTS + 1).contains(&read.parts.len()));
        for part in &read.parts {
            prop_assert!(part.text().chars().count() <= LONGEST_TEXT + 1);
            prop_assert!(part.kind == Kind::Construct || !part.words.is_empty());
        }
        prop_assert_eq!(parse(&line), read);
    }

    #[test]
    fn what_must_not_run_is_found_wherever_it_stands(
        places in prop::collection::vec(prop::sample::select(PLACES.to_vec()), 0..4),
        text in prop::option::of(prop::sample::select(TEXTS.to_vec())),
    ) {
        let bad = "rm -rf x";
        let mut line = bad.to_owned();
        // Quotes hold no quotes: the text is innermost.
        if let Some(text) = text {
            line = text.replace('C', &line);
        }
        let mut wrapped = false;
        for place in places {
            // Only a simple command can stand behind a launcher, and no here-document in a line.
            let simple = ["env C", "nice", "nohup", "timeout", "xargs", "sudo", "exec C", "-exec"];
            let launches = simple.iter().any(|one| place.contains(one));
            if (wrapped && (launches || place.contains("<<"))) || line.contains("<<") {
                continue;
            }
            wrapped |= !launches;
            line = place.replace('C', &line);
        }
        let deny = Pattern::parse("rm *").unwrap();
        let parts = parse(&line).parts;
        prop_assert!(parts.iter().any(|part| deny.catches(part) == Fit::Yes), "{}: {:?}", line, parts);
        // And what is allowed is never the whole of it.
        let allow = ["ls *", "cat *", "a"].map(|one| Pattern::parse(one).unwrap());
        let free = |part: &Part| part.kind == Kind::Launcher && part.doubt.is_none();
        let allowed = |part: &Part| free(part) || allow.iter().any(|one| one.allows(part));
        prop_assert!(!parts.iter().all(allowed), "{}", line);
    }
}
