//! Chat completions as real servers send them. A row is named by what deviates, and says what
//! becomes of it.

use super::*;
use crate::runtime::dialect::{RawCall, TextRules};

/// Ends a stream as it should end.
pub(super) const CALLS: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";

/// What was read, on one line.
pub(super) fn told(read: &Result<Reply, WireError>) -> String {
    let (reply, mut out) = match read {
        Ok(reply) => (reply, Vec::new()),
        Err(error) => (&*error.kept, vec![format!("{:?} ({error})", error.trouble)]),
    };
    out.extend(reply.reasoning.iter().map(|text| format!("thinks {text}")));
    out.extend(reply.text.iter().map(|text| format!("says {text}")));
    for RawCall { id, name, arguments, flaw, .. } in &reply.calls {
        let id = id.as_deref().unwrap_or("-");
        let why = flaw.map(|flaw| format!(" [{flaw}]")).unwrap_or_default();
        out.push(format!("{id} {name} {arguments}{why}"));
    }
    out.extend(reply.finish.iter().map(|finish| format!("ends {finish}")));
    out.join(" | ")
}

pub(super) fn assembled<'a>(
    dialect: Dialect,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Reply, WireError> {
    let mut assembler = Assembler::new(dialect, WireLimits::default());
    pieces.into_iter().for_each(|piece| assembler.push(piece));
    assembler.finish()
}

/// Reads a stream as a whole, byte by byte, and with other ends of lines: all the same.
pub(super) fn stream(dialect: Dialect, stream: &str, expected: &str) {
    let read = assembled(dialect, [stream.as_bytes()]);
    assert_eq!(told(&read), expected, "{stream}");
    assert_eq!(assembled(dialect, stream.as_bytes().chunks(1)), read, "{stream}");
    for ends in ["\r\n", "\r"] {
        let stream = stream.replace('\n', ends);
        assert_eq!(assembled(dialect, stream.as_bytes().chunks(1)), read, "{stream:?}");
    }
    // Whatever is marked can be no arguments, whoever reads them.
    let reply = read.as_ref().unwrap_or_else(|error| &error.kept);
    for call in reply.calls.iter().filter(|call| call.flaw.is_some()) {
        assert!(serde_json::from_str::<serde_json::Value>(&call.arguments).is_err());
        assert!(!call.arguments.trim().is_empty());
    }
}

pub(super) fn body(dialect: Dialect, body: &str, expected: &str) {
    assert_eq!(told(&dialect.decode(body.as_bytes(), WireLimits::default())), expected, "{body}");
}

/// A stream of deltas and what ends it.
fn deltas(deltas: &[&str], end: &str, expected: &str) {
    let chunk =
        |delta: &&str| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n");
    let text: String = deltas.iter().map(chunk).collect();
    stream(Dialect::OpenAiChat, &(text + end), expected);
}

/// A stream of pieces of calls, one in each delta.
fn pieces(pieces: &[&str], expected: &str) {
    let all: Vec<String> =
        pieces.iter().map(|piece| format!("{{\"tool_calls\":[{piece}]}}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    deltas(&all, CALLS, expected);
}

fn ended(finish: &str) -> String {
    CALLS.replace("tool_calls", finish)
}

#[test]
fn calls_as_the_api_tells_them() {
    pieces(
        &[
            r#"{"index":0,"id":"a","type":"function","function":{"name":"get","arguments":""}}"#,
            r#"{"index":0,"function":{"arguments":"{\"n\""}}"#,
            r#"{"index":0,"function":{"arguments":":1}"}}"#,
            r#"{"index":1,"id":"b","function":{"name":"put","arguments":"{}"}}"#,
        ],
        r#"a get {"n":1} | b put {} | ends tool_calls"#,
    );
    // Pieces of two calls in turn.
    pieces(
        &[
            r#"{"index":0,"id":"a","function":{"name":"get"}}"#,
            r#"{"index":1,"id":"b","function":{"name":"put"}}"#,
            r#"{"index":0,"function":{"arguments":"{\"n\":"}}"#,
            r#"{"index":1,"function":{"arguments":"{\"m\":"}}"#,
            r#"{"index":0,"function":{"arguments":"1}"}}"#,
            r#"{"index":1,"function":{"arguments":"2}"}}"#,
        ],
        r#"a get {"n":1} | b put {"m":2} | ends tool_calls"#,
    );
    // The call of older models, which has no id.
    deltas(
        &[
            r#"{"function_call":{"name":"get","arguments":""}}"#,
            r#"{"function_call":{"arguments":"{\"n\":1}"}}"#,
        ],
        &ended("function_call"),
        r#"- get {"n":1} | ends tool_calls"#,
    );
    pieces(
        &[r#"{"index":0,"id":"a","type":"custom","custom":{"name":"sh","input":"ls"}}"#],
        "a sh ls | ends tool_calls",
    );
}

#[test]
fn indices_that_say_little() {
    // Every call at index 0 (Ollama, LiteLLM); a piece without an id belongs to the later one.
    pieces(
        &[
            r#"{"index":0,"id":"a","function":{"name":"get","arguments":"{\"n\":1}"}}"#,
            r#"{"index":0,"id":"b","function":{"name":"get","arguments":"{\"n\""}}"#,
            r#"{"index":0,"function":{"arguments":":2}"}}"#,
        ],
        r#"a get {"n":1} | b get {"n":2} | ends tool_calls"#,
    );
    // Neither index nor id, each call whole.
    for index in ["", "\"index\":0,"] {
        let whole = |n: u32| {
            format!(
                "{{{index}\"function\":{{\"name\":\"get\",\"arguments\":\"{{\\\"n\\\":{n}}}\"}}}}"
            )
        };
        pieces(&[&whole(1), &whole(2)], r#"- get {"n":1} | - get {"n":2} | ends tool_calls"#);
        let both = format!("{},{}", whole(1), whole(2));
        pieces(&[&both], r#"- get {"n":1} | - get {"n":2} | ends tool_calls"#);
    }
    // No index (Gemini behind another API), and empty ids in what follows.
    pieces(
        &[
            r#"{"id":"a","function":{"name":"get","arguments":""}}"#,
            r#"{"id":"","type":"","function":{"arguments":"{\"n\":"}}"#,
            r#"{"id":null,"function":{"arguments":"1}"}}"#,
            r#"{"id":"b","function":{"name":"put","arguments":"{}"}}"#,
        ],
        r#"a get {"n":1} | b put {} | ends tool_calls"#,
    );
    // Two in one list without indices, without arguments.
    pieces(
        &[r#"{"function":{"name":"up","arguments":""}},{"function":{"name":"down"}}"#],
        "- up  | - down  | ends tool_calls",
    );
    // Indices as text, and from 1 on.
    pieces(
        &[
            r#"{"index":"1","id":"a","function":{"name":"get","arguments":"{\"n\":"}}"#,
            r#"{"index":"2","id":"b","function":{"name":"put","arguments":"{}"}}"#,
            r#"{"index":"1","function":{"arguments":"1}"}}"#,
        ],
        r#"a get {"n":1} | b put {} | ends tool_calls"#,
    );
}

#[test]
fn ids_that_come_often_late_or_twice() {
    // With every piece.
    pieces(
        &[
            r#"{"index":0,"id":"a","function":{"name":"get","arguments":"{\"n\":"}}"#,
            r#"{"index":0,"id":"a","function":{"name":"get","arguments":"1}"}}"#,
            r#"{"index":0,"id":"a","function":{"name":"get","arguments":""}}"#,
        ],
        r#"a get {"n":1} | ends tool_calls"#,
    );
    // With an index that changed meanwhile.
    pieces(
        &[
            r#"{"index":0,"id":"a","function":{"name":"get","arguments":"{\"n\":"}}"#,
            r#"{"index":1,"id":"a","function":{"arguments":"1}"}}"#,
        ],
        r#"a get {"n":1} | ends tool_calls"#,
    );
    // After the name.
    pieces(
        &[
            r#"{"index":0,"function":{"name":"get"}}"#,
            r#"{"index":0,"id":"a","function":{"arguments":"{\"n\":1}"}}"#,
        ],
        r#"a get {"n":1} | ends tool_calls"#,
    );
    // For two calls, at indices of their own, and without any.
    for index in ["", "\"index\":1,"] {
        let second = format!(
            "{{{index}\"id\":\"a\",\"function\":{{\"name\":\"get\",\"arguments\":\"{{\\\"n\\\":2}}\"}}}}"
        );
        let first = r#"{"index":0,"id":"a","function":{"name":"get","arguments":"{\"n\":1}"}}"#;
        pieces(&[first, &second], r#"a get {"n":1} | a get {"n":2} | ends tool_calls"#);
    }
    // Inside the function (llama.cpp), and where there is no inner object.
    pieces(
        &[
            r#"{"index":0,"function":{"id":"a","name":"get","arguments":"{}"}}"#,
            r#"{"index":1,"id":"b","name":"put","arguments":"{}"}"#,
        ],
        "a get {} | b put {} | ends tool_calls",
    );
}

#[test]
fn names_whole_or_in_pieces() {
    // The whole name with every piece (MiniMax), also behind the arguments.
    let named = |arguments: &str| {
        format!("{{\"index\":0,\"function\":{{\"name\":\"get\",\"arguments\":\"{arguments}\"}}}}")
    };
    pieces(
        &[&named(""), &named("{\\\"n\\\":"), &named("1}"), &named("")],
        r#"- get {"n":1} | ends tool_calls"#,
    );
    pieces(
        &[
            r#"{"index":0,"id":"a","function":{"name":"edit_ex"}}"#,
            r#"{"index":0,"function":{"name":"isting"}}"#,
            r#"{"index":0,"function":{"name":null,"arguments":"{}"}}"#,
        ],
        "a edit_existing {} | ends tool_calls",
    );
}

#[test]
fn arguments_of_every_kind() {
    let call = |arguments: &str, expected: &str| {
        let piece =
            format!("{{\"index\":0,\"id\":\"a\",\"function\":{{\"name\":\"get\"{arguments}}}}}");
        pieces(&[&piece], &format!("a get {expected} | ends tool_calls"));
        let whole = format!(
            "{{\"choices\":[{{\"message\":{{\"tool_calls\":[{piece}]}},\"finish_reason\":\"tool_calls\"}}]}}"
        );
        body(Dialect::OpenAiChat, &whole, &format!("a get {expected} | ends tool_calls"));
    };
    call("", "");
    call(",\"arguments\":null", "");
    call(",\"arguments\":\"\"", "");
    call(",\"arguments\":\"{}\"", "{}");
    call(",\"arguments\":{\"n\": 1, \"n\": 2}", "{\"n\": 1, \"n\": 2}");
    call(",\"arguments\":[1]", "[1]");
    call(",\"arguments\":\"{\\\"n\\\": tru\"", "{\"n\": tru");
    // Two objects at one place (some gateways): nobody knows which one is meant.
    call(",\"arguments\":\"{\\\"n\\\":1}{\\\"n\\\":2}\"", "{\"n\":1}{\"n\":2}");
    call(",\"arguments\":\"{}\",\"arguments\":\"{}\"", "{}… [a member of the call stands twice]");
    // Half a character in each of two pieces, and one without its other half.
    pieces(
        &[
            r#"{"index":0,"id":"a","function":{"name":"get","arguments":"\"\ud83c"}}"#,
            r#"{"index":0,"function":{"arguments":"\udf27\""}}"#,
            r#"{"index":1,"id":"b","function":{"name":"get","arguments":"\"\ud83c\""}}"#,
        ],
        "a get \"🌧\" | b get \"\\ud83c\" | ends tool_calls",
    );
}

#[test]
fn arguments_that_belong_to_nobody() {
    // Two beginnings at index 0 and the pieces at indices of their own (a translating gateway).
    // The first call has none, and must not run without those that are astray.
    pieces(
        &[
            r#"{"index":0,"id":"a","function":{"name":"wipe","arguments":""}}"#,
            r#"{"index":1,"function":{"arguments":"{\"only\":\"x\"}"}}"#,
        ],
        "a wipe … [the call has no arguments, and there are arguments that belong to no call] \
         | -  {\"only\":\"x\"} | ends tool_calls",
    );
    // More for a call that was at its end when the next one began.
    pieces(
        &[
            r#"{"index":0,"id":"a","function":{"name":"get","arguments":"{\"n\":1}"}}"#,
            r#"{"index":1,"id":"b","function":{"name":"put","arguments":"{}"}}"#,
            r#"{"index":0,"function":{"arguments":"{\"n\":2}"}}"#,
        ],
        r#"a get {"n":1} | b put {} | -  {"n":2} | ends tool_calls"#,
    );
    deltas(&[r#"{"tool_calls":["x"]}"#], CALLS, "-  \"x\" | ends tool_calls");
    deltas(&[r#"{"tool_calls":[null]}"#, r#"{"tool_calls":null}"#], CALLS, "ends tool_calls");
}

const TWO: [&str; 4] = [
    r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"get","arguments":""}}]}"#,
    r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"n\":1}"}}]}"#,
    r#"{"tool_calls":[{"index":1,"id":"b","function":{"name":"put","arguments":""}}]}"#,
    r#"{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}"#,
];

#[test]
fn ends_that_are_none() {
    const WHY: &str = "Cut (the stream ended before it said that the reply is at its end)";
    const CUT: &str = "[the reply ended inside the call]";
    let check = |deltas_: &[&str], end: &str, expected: &str| deltas(deltas_, end, expected);
    // A connection that breaks; also an answer in words is none then.
    check(&TWO[..1], "", &format!("{WHY} | a get … {CUT}"));
    check(&TWO[..2], "", &format!("{WHY} | a get {{\"n\":1}}… {CUT}"));
    check(&TWO[..3], "", &format!("{WHY} | a get {{\"n\":1}} | b put … {CUT}"));
    check(&TWO, "", &format!("{WHY} | a get {{\"n\":1}} | b put {{}}… {CUT}"));
    check(&[r#"{"content":"I wi"}"#], "", &format!("{WHY} | says I wi"));
    check(&[r#"{"content":"I wi"}"#], "data: {\"choi", &format!("{WHY} | says I wi"));
    // A limit; some servers close what it left open and call it `{}`.
    let both = format!("a get {{\"n\":1}} | b put {{}}… {CUT} | ends length");
    check(&TWO, &ended("length"), &both);
    let one = format!("a get {{\"n\":1}} | b put … {CUT} | ends length");
    check(&TWO[..3], &ended("length"), &one);
    // No reason: the mark behind the stream says that nothing was lost, and not what was meant.
    let mark = "data: [DONE]\n\n";
    check(&TWO, mark, "a get {\"n\":1} | b put {}");
    check(&TWO[..3], mark, &format!("a get {{\"n\":1}} | b put … {CUT}"));
    check(&[r#"{"content":"Yes."}"#], mark, "says Yes.");
    // No mark, or no blank line: the reason suffices.
    let end = CALLS.split("data: [DONE]").next().unwrap();
    check(&TWO, end, "a get {\"n\":1} | b put {} | ends tool_calls");
    check(&TWO, end.trim_end(), "a get {\"n\":1} | b put {} | ends tool_calls");
    check(&TWO, &format!("{end}data: [DO"), "a get {\"n\":1} | b put {} | ends tool_calls");
    // What comes behind the mark is not looked at.
    check(&TWO[..2], &format!("{CALLS}data: nonsense\n\n"), "a get {\"n\":1} | ends tool_calls");
    // Empty reasons while it runs (Ollama), and `stop` behind calls (vLLM, Gemini).
    let stream_ = r#"data: {"choices":[{"delta":{"content":"a"},"finish_reason":""}]}

data: {"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}

"#;
    stream(Dialect::OpenAiChat, stream_, "says ab | ends stop");
    check(&TWO[..2], &ended("stop"), "a get {\"n\":1} | ends stop");
}

#[test]
fn failures_inside_a_stream() {
    let check = |end: &str, expected: &str| deltas(&TWO[..2], end, expected);
    let kept = r#"a get {"n":1}… [the reply ended inside the call]"#;
    let failed = |why: &str| format!("Provider (the provider failed: {why}) | {kept}");
    check(
        "data: {\"error\":{\"message\":\"quota\",\"type\":\"limit\"}}\n\n",
        &failed("limit: quota"),
    );
    check("data: {\"error\":\"quota\"}\n\ndata: [DONE]\n\n", &failed("quota"));
    check("event: error\ndata: {\"message\":\"quota\"}\n\n", &failed("quota"));
    check("error: {\"code\":500,\"message\":\"no slot\"}\n\n", &failed("500: no slot"));
    check(
        "data: {\"error\":{\"message\":\"busy\"},\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\n",
        &failed("busy"),
    );
    check(
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\",\"error\":{\"message\":\"busy\"}}]}\n\n",
        &failed("busy"),
    );
    check(&ended("error"), &failed("it ends the reply with an error and no reason"));
    check(
        "data: upstream died\n\n",
        &format!("Unreadable (an event of the stream is no JSON: upstream died) | {kept}"),
    );
    check("data: 7\n\n", &format!("Foreign (an event of the stream is no object: 7) | {kept}"));
}

#[test]
fn what_stands_between_is_no_trouble() {
    let stream_ = r#": keep alive

data:

data: {"choices":[],"prompt_filter_results":[{"prompt_index":0}]}

data: {"choices":[{"index":0,"delta":null}],"error":null}

event: message
id: 7
data: {"choices":[{"index":1,"delta":{"content":"other"}},
data: {"index":0,"delta":{"content":"other"}}]}

data: {"choices":[{"index":1,"delta":{"content":"one"},"finish_reason":null}]}

data: {"choices":null,"usage":{"total_tokens":3}}

"#;
    let wanted = "Cut (the stream ended before it said that the reply is at its end) | says other";
    // The first choice that came is the one that is read.
    stream(Dialect::OpenAiChat, stream_, wanted);
    let whole = r#"data: {"choices":[{"message":{"content":"Hi","tool_calls":[]},"finish_reason":"stop"}]}"#;
    stream(Dialect::OpenAiChat, whole, "says Hi | ends stop");
}

#[test]
fn words_thoughts_and_refusals() {
    let message = |message: &str, expected: &str| {
        let text =
            format!("{{\"choices\":[{{\"message\":{message},\"finish_reason\":\"stop\"}}]}}");
        body(Dialect::OpenAiChat, &text, expected);
        deltas(&[message], &ended("stop"), expected);
    };
    message(r#"{"content":"Hi"}"#, "says Hi | ends stop");
    message(r#"{"content":null,"refusal":"I will not."}"#, "says I will not. | ends stop");
    message(r#"{"content":"","reasoning_content":"hm"}"#, "thinks hm | ends stop");
    message(r#"{"reasoning":"hm","reasoning_content":"hm"}"#, "thinks hm | ends stop");
    message(r#"{"reasoning":"hm","reasoning_content":""}"#, "thinks hm | ends stop");
    message(
        "{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"hm\"}]},\
         {\"type\":\"text\",\"text\":\"Hi\"},{\"type\":\"reference\",\"reference_ids\":[1]}]}",
        "thinks hm | says Hi | ends stop",
    );
    let call = "<tool_call>{\\\"name\\\":\\\"rm\\\",\\\"arguments\\\":{}}</tool_call>";
    let stream_ = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"reasoning\":\"{call}\"}},\"finish_reason\":\"stop\"}}]}}"
    );
    for dialect in [Dialect::OpenAiChat, Dialect::Text] {
        let reply = assembled(dialect, [stream_.as_bytes()]).unwrap();
        assert!(reply.reasoning.is_some());
        assert_eq!(dialect.parse(&reply, TextRules::ALL), (None, Vec::new()));
    }
}
