use proptest::prelude::*;
use serde_json::{Map, Value};

use super::cases_tests::{assembled, told};
use super::*;
use crate::runtime::dialect::RawCall;

/// The text protocol is sent as chat completions are.
const NATIVE: [Dialect; 4] =
    [Dialect::OpenAiChat, Dialect::OpenAiResponses, Dialect::AnthropicMessages, Dialect::Gemini];

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zé ]{1,12}",
        any::<String>(),
        prop::sample::select(vec![
            "data: [DONE]\n\n",
            "\r\n\r\ndata: {}",
            "\u{FEFF}",
            "🌧\u{2028}\u{85}",
            "\"\\\u{0}\u{7f}",
            "<tool_call>{\"name\":\"x\",\"arguments\":{}}</tool_call>",
        ])
        .prop_map(str::to_owned),
    ]
    .prop_filter("what is empty is not sent", |text| !text.is_empty())
}

fn objects() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        words().prop_map(Value::from),
        prop::collection::vec(words().prop_map(Value::from), 0..3).prop_map(Value::from),
    ];
    prop::collection::btree_map(words(), leaf, 0..3)
        .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>()).to_string())
}

fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => objects(),
        2 => words(),
        2 => prop::sample::select(vec!["", " ", "{}", "{}x", "{}{}", "null", "[]", "\"{}\"", "{\"a\":", "1"])
            .prop_map(str::to_owned),
    ]
}

fn call() -> impl Strategy<Value = RawCall> {
    let word = || words().prop_filter("what is blank is none", |word| !word.trim().is_empty());
    // Few ids, so that some come twice.
    let id = prop_oneof![3 => "[ab]", 1 => word()];
    let name = prop_oneof![3 => "[a-z_]{1,4}", 1 => words()];
    (prop::option::of(id), name, arguments())
        .prop_map(|(id, name, arguments)| RawCall::native(id, name, arguments))
}

fn reply() -> impl Strategy<Value = Reply> {
    let finish = prop::sample::select(vec!["stop", "tool_calls", "length", "content_filter"]);
    let calls = prop::collection::vec(call(), 0..4);
    (prop::option::of(words()), prop::option::of(words()), calls, finish).prop_map(
        |(text, reasoning, calls, finish)| {
            let finish = Some(finish.to_owned());
            Reply { text, reasoning, calls, finish, explanation: None }
        },
    )
}

/// What a reply becomes on its way: where a dialect has one word for two ends, and where a call
/// stands last in a reply that ended at a limit.
fn sent(dialect: Dialect, reply: &Reply) -> Reply {
    let mut reply = reply.clone();
    let calls = reply.finish.as_deref() == Some("tool_calls");
    if calls && matches!(dialect, Dialect::OpenAiResponses | Dialect::Gemini) {
        reply.finish = Some("stop".to_owned());
    }
    if reply.finish.as_deref() == Some("length")
        && dialect != Dialect::Gemini
        && let Some(last) = reply.calls.last_mut()
    {
        last.arguments.push('…');
        last.flaw = Some("the reply ended inside the call");
    }
    reply
}

fn whole(dialect: Dialect, reply: &Reply) -> Result<Reply, WireError> {
    dialect.decode(dialect.body(reply).as_bytes(), WireLimits::default())
}

fn cut<'a>(text: &'a str, cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|cut| &text.as_bytes()[cut[0]..cut[1]]).collect()
}

/// What a stream may show after its first bytes: nothing that the whole does not say.
fn part_of(part: &Result<Reply, WireError>, whole: &Reply, bytes: usize) {
    if let Ok(part) = part {
        assert_eq!(part, whole, "after {bytes} bytes");
        return;
    }
    let Err(error) = part else { return };
    let begins = |whole: &Option<String>, part: &Option<String>| {
        whole.as_deref().unwrap_or_default().starts_with(part.as_deref().unwrap_or_default())
    };
    assert!(begins(&whole.text, &error.kept.text), "{} after {bytes} bytes", told(part));
    assert!(begins(&whole.reasoning, &error.kept.reasoning), "{}", told(part));
    assert!(error.kept.calls.len() <= whole.calls.len(), "{} after {bytes} bytes", told(part));
    for (part, whole) in error.kept.calls.iter().zip(&whole.calls) {
        assert!(part.flaw.is_some() || part == whole, "{part:?} after {bytes} bytes: {whole:?}");
        assert_eq!((&part.id, &part.name), (&whole.id, &whole.name), "after {bytes} bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_spelled_is_read_back(reply in reply()) {
        for dialect in Dialect::ALL {
            prop_assert_eq!(whole(dialect, &reply), Ok(sent(dialect, &reply)), "{}", dialect.name());
        }
    }

    #[test]
    fn a_stream_gives_what_the_whole_gives(
        reply in reply(),
        piece in 1_usize..9,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ends in prop::sample::select(vec!["\n", "\r", "\r\n"]),
        between in prop::sample::select(vec!["", ": wait\n\n", "data:\n\n", "id: 1\nretry: 5\n"]),
        tail in 0_usize..3,
    ) {
        for dialect in Dialect::ALL {
            let expected = whole(dialect, &reply);
            let stream = dialect.stream(&reply, piece);
            prop_assert_eq!(&assembled(dialect, [stream.as_bytes()]), &expected, "{}", stream);
            prop_assert_eq!(&assembled(dialect, stream.as_bytes().chunks(1)), &expected);
            prop_assert_eq!(&assembled(dialect, cut(&stream, &cuts)), &expected, "{}", stream);
            // Other ends of lines, something between the events, less than a blank line behind.
            let less = &stream[..stream.len() - tail];
            let framed = between.to_owned() + &less.replace("\n\n", &format!("\n\n{between}"));
            let framed = framed.replace('\n', ends);
            prop_assert_eq!(&assembled(dialect, cut(&framed, &cuts)), &expected, "{:?}", framed);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 8,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_cut_in_two_changes_nothing(reply in reply(), piece in 4_usize..12) {
        // Short enough for every place in it.
        let calls = reply.calls.iter().take(1).cloned().collect();
        let short = |text: &Option<String>| {
            text.as_ref().map(|text| text.chars().take(12).collect::<String>())
        };
        let text = short(&reply.text);
        let reply = Reply { calls, text, reasoning: short(&reply.reasoning), ..reply };
        for dialect in NATIVE {
            let (expected, stream) = (whole(dialect, &reply), dialect.stream(&reply, piece));
            let mut head = Assembler::new(dialect, WireLimits::default());
            for (at, byte) in stream.bytes().enumerate() {
                let mut both = head.clone();
                both.push(&stream.as_bytes()[at..]);
                prop_assert_eq!(&both.finish(), &expected, "{}: {}", at, stream);
                head.push(&[byte]);
            }
        }
    }

    #[test]
    fn every_break_makes_up_nothing(reply in reply(), piece in 1_usize..9) {
        for dialect in NATIVE {
            let (body, stream) = (dialect.body(&reply), dialect.stream(&reply, piece));
            let expected = whole(dialect, &reply).unwrap();
            let mut head = Assembler::new(dialect, WireLimits::default());
            for (at, byte) in stream.bytes().enumerate() {
                part_of(&head.clone().finish(), &expected, at);
                head.push(&[byte]);
            }
            for at in 0..body.len() {
                let read = dialect.decode(&body.as_bytes()[..at], WireLimits::default());
                let error = read.unwrap_err();
                prop_assert!(matches!(error.trouble, Trouble::Cut | Trouble::Unreadable));
                prop_assert_eq!(*error.kept, Reply::default());
            }
        }
    }
}

/// Bytes that come one by one, and a text that comes character by character, are read once.
#[test]
fn many_small_pieces_take_no_longer_than_they_must() {
    let arguments = Value::from_iter([("text", "na\"ï🌧\\".repeat(100_000))]).to_string();
    assert!(arguments.len() > 1_000_000);
    for dialect in NATIVE {
        for (size, piece) in [(arguments.len(), 4096), (4_000, 1)] {
            let arguments = arguments.chars().take(size).collect::<String>();
            let call = RawCall::native(Some("a".to_owned()), "put", arguments);
            let finish = Some("stop".to_owned());
            let reply = Reply { calls: vec![call], finish, ..Reply::default() };
            let stream = dialect.stream(&reply, piece);
            assert_eq!(assembled(dialect, stream.as_bytes().chunks(1)), Ok(reply));
        }
    }
}

#[test]
fn limits_hold_wherever_the_pieces_end() {
    let call = RawCall::native(None, "get", "{}");
    for dialect in Dialect::ALL {
        let reply = Reply {
            text: Some("Hi".to_owned()),
            calls: vec![call.clone(); 5],
            finish: Some("stop".to_owned()),
            ..Reply::default()
        };
        let (stream, body) = (dialect.stream(&reply, 3), dialect.body(&reply));
        let read = |limits: WireLimits, size: usize| {
            let mut assembler = Assembler::new(dialect, limits);
            stream.as_bytes().chunks(size).for_each(|piece| assembler.push(piece));
            (assembler.is_over(), assembler.finish())
        };
        let usual = WireLimits::default();
        let check = |limits: WireLimits, trouble: Option<Trouble>| {
            let (over, first) = read(limits, stream.len());
            assert_eq!(
                first.as_ref().err().map(|error| error.trouble),
                trouble,
                "{}",
                told(&first)
            );
            assert!(over || trouble.is_none() && dialect == Dialect::Gemini);
            for size in [1, 7] {
                assert_eq!(read(limits, size), (over, first.clone()));
            }
        };
        check(usual, None);
        check(WireLimits { parts: 6, ..usual }, None);
        check(WireLimits { bytes: stream.len(), ..usual }, None);
        check(WireLimits { parts: 5, ..usual }, Some(Trouble::TooLong));
        check(WireLimits { bytes: stream.len() / 2, ..usual }, Some(Trouble::TooLong));
        check(WireLimits { bytes: 0, ..usual }, Some(Trouble::TooLong));
        for limits in
            [WireLimits { parts: 5, ..usual }, WireLimits { bytes: body.len() - 1, ..usual }]
        {
            let error = dialect.decode(body.as_bytes(), limits).unwrap_err();
            assert_eq!((error.trouble, error.fault().blame.as_str()), (Trouble::TooLong, "model"));
        }
        assert!(dialect.decode(body.as_bytes(), WireLimits { bytes: body.len(), ..usual }).is_ok());
    }
}
