use super::{Launch, McpError, parse_command};

fn launch(env: &[(&str, &str)], words: &[&str]) -> Launch {
    Launch {
        program: words[0].to_owned(),
        args: words[1..].iter().map(|word| (*word).to_owned()).collect(),
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        cwd: None,
    }
}

#[test]
fn splits_words_as_a_shell_does() {
    for (line, env, words) in [
        (
            "npx -y @modelcontextprotocol/server-filesystem DIR",
            &[][..],
            &["npx", "-y", "@modelcontextprotocol/server-filesystem", "DIR"][..],
        ),
        (r#"TZ=UTC "my server" --flag 'a b'"#, &[("TZ", "UTC")], &["my server", "--flag", "a b"]),
        ("  a \t b \r\n", &[], &["a", "b"]),
        ("a b\n \n", &[], &["a", "b"]),
        (r"a b\ ", &[], &["a", "b "]),
        ("a '' \"\"", &[], &["a", "", ""]),
        (r"a\ b c\\d \'e", &[], &["a b", r"c\d", "'e"]),
        ("a \\\n b", &[], &["a", "b"]),
        ("a b\\\nc", &[], &["a", "bc"]),
        (r#"a "b \" \\ \$ \` \n c""#, &[], &["a", r#"b " \ $ ` \n c"#]),
        (r#"a 'b \" $HOME `x` | ;'"#, &[], &["a", r#"b \" $HOME `x` | ;"#]),
        (r#"a "x | y ; z & <>() 'q'""#, &[], &["a", "x | y ; z & <>() 'q'"]),
        (r#"a"b"'c'd"#, &[], &["abcd"]),
        (
            r"a \| \; \& \< \> \$HOME \`x\` \(\)",
            &[],
            &["a", "|", ";", "&", "<", ">", "$HOME", "`x`", "()"],
        ),
        ("a * ? ~ # [x] {y} ! =z", &[], &["a", "*", "?", "~", "#", "[x]", "{y}", "!", "=z"]),
        ("a $ \"5$\" x$", &[], &["a", "$", "5$", "x$"]),
        ("a 'line\nbreak' \"an\nother\"", &[], &["a", "line\nbreak", "an\nother"]),
        (
            "A=1 _b2='x y' C= D=\"e=f\" p G=h",
            &[("A", "1"), ("_b2", "x y"), ("C", ""), ("D", "e=f")],
            &["p", "G=h"],
        ),
        ("A=1 A=2 p", &[("A", "1"), ("A", "2")], &["p"]),
        ("2A=1 b", &[], &["2A=1", "b"]),
        ("'A'=1 b", &[], &["A=1", "b"]),
        (r"A\=1 b", &[], &["A=1", "b"]),
        ("--a=b", &[], &["--a=b"]),
        ("a --key=d'e f'=g", &[], &["a", "--key=de f=g"]),
        ("héllo 'wörld ☃'", &[], &["héllo", "wörld ☃"]),
    ] {
        assert_eq!(parse_command(line), Ok(launch(env, words)), "{line}");
    }
}

#[test]
fn refuses_what_needs_a_shell() {
    for (line, at, reason) in [
        ("a | b", 2, "`|` needs a shell"),
        ("a; b", 1, "`;` needs a shell"),
        ("a && b", 2, "`&` needs a shell"),
        ("a http://h/?x=1&y=2", 15, "`&` needs a shell"),
        ("a < b", 2, "`<` needs a shell"),
        ("a 2>&1", 3, "`>` needs a shell"),
        ("(a)", 0, "`(` needs a shell"),
        ("a b)", 3, "`)` needs a shell"),
        ("a $(b)", 2, "nothing is expanded"),
        ("a \"$(b)\"", 3, "nothing is expanded"),
        ("a `b`", 2, "nothing is expanded"),
        ("a \"`b`\"", 3, "nothing is expanded"),
        ("a $HOME", 2, "nothing is expanded"),
        ("a \"x $HOME\"", 5, "nothing is expanded"),
        ("a ${HOME}", 2, "nothing is expanded"),
        ("a $1", 2, "nothing is expanded"),
        ("a $'x'", 2, "nothing is expanded"),
        ("A=$B c", 2, "nothing is expanded"),
        ("a\nb", 1, "more than one line"),
        ("a 'b", 2, "never closed"),
        ("a \"b", 2, "never closed"),
        ("a \"b\\\"", 2, "never closed"),
        ("a b\\", 3, "it ends in"),
        ("a b\0c", 3, "NUL"),
        ("a 'b\0c'", 4, "NUL"),
        ("a \"\0\"", 3, "NUL"),
        ("", 0, "names no program"),
        ("  \n ", 4, "names no program"),
        ("A=1", 3, "names no program"),
        ("''", 2, "names no program"),
    ] {
        let Err(McpError::Command { reason: text, at: got }) = parse_command(line) else {
            panic!("{line} was accepted")
        };
        assert!(text.contains(reason) && got == at, "{line}: byte {got}: {text}");
    }
}

#[test]
fn a_launch_hides_its_values_when_printed() {
    let launch = launch(&[("API_KEY", "hunter2")], &["a", "b"]);
    let text = format!("{launch:?}");
    assert!(text.contains("API_KEY") && !text.contains("hunter2"), "{text}");
}

proptest::proptest! {
    #[test]
    fn any_quoted_words_come_back(words in proptest::collection::vec("[^\0]{0,12}", 1..6)) {
        let quoted: Vec<String> =
            words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
        let line = format!("p {}", quoted.join(" "));
        let launch = parse_command(&line).unwrap();
        proptest::prop_assert_eq!(launch.args, words);
    }

    #[test]
    fn no_line_panics(line in "[ -~\n\0é]{0,40}") {
        let _ = parse_command(&line);
    }
}
