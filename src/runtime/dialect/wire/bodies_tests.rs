//! Bodies and streams of the other dialects, and what is no reply in any of them.

use super::cases_tests::{assembled, body, stream};
use super::*;

const RESPONSES: Dialect = Dialect::OpenAiResponses;
const MESSAGES: Dialect = Dialect::AnthropicMessages;
const CUT: &str = "[the reply ended inside the call]";
const WHY: &str = "Cut (the stream ended before it said that the reply is at its end)";

#[test]
fn what_is_no_reply() {
    let check = |text: &str, expected: &str| {
        for dialect in Dialect::ALL {
            let limits = WireLimits::default();
            let error = dialect.decode(text.as_bytes(), limits).unwrap_err();
            let found = format!("{:?}: {error}", error.trouble);
            assert!(found.starts_with(expected), "{}: {found}", dialect.name());
            assert_eq!(*error.kept, Reply::default());
            // A server may answer so where a stream was asked for.
            let error = assembled(dialect, [text.as_bytes()]).unwrap_err();
            assert_ne!(error.trouble, Trouble::TooLong, "{error}");
            assert_eq!(*error.kept, Reply::default());
        }
    };
    check("", "Unreadable: the body is empty");
    check(" \r\n ", "Unreadable: the body is empty");
    check(
        "<!DOCTYPE html>\n<html><title>502 Bad Gateway</title></html>",
        "Unreadable: the body is a page and no JSON: <!DOCTYPE html> <html><title>502 Bad",
    );
    check("upstream connect error", "Unreadable: the body is no JSON (expected value");
    check("data: {\"choices\":[]}\n\n", "Unreadable: the body is no JSON (expected value");
    check("{\"choices\": NaN}", "Unreadable: the body is no JSON");
    check("\"choices\"", "Foreign: the body is JSON and no object");
    check("null", "Foreign: the body is JSON and no object");
    check("{", "Cut: the body ends inside its JSON");
    check("{}", "Foreign: the body is no reply: it has no `");
    check("{\"detail\":\"Not Found\"}", "Foreign: the body is no reply: it has no `");
    check(
        r#"{"error":{"message":"wrong key","type":"auth","code":"401"}}"#,
        "Provider: the provider failed: auth: wrong key",
    );
    check(r#"{"error":"no such model"}"#, "Provider: the provider failed: no such model");
    check(
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        "Provider: the provider failed: overloaded_error: Overloaded",
    );
    check(
        r#"{"error":{"code":429,"message":"Slow down","status":"RESOURCE_EXHAUSTED"}}"#,
        "Provider: the provider failed: RESOURCE_EXHAUSTED: Slow down",
    );
    check(r#"{"object":"error","message":"too long"}"#, "Provider: the provider failed: too long");
    check("{\"a\":1,\"a\":2}", "Foreign: the member \"a\" stands twice in one object");
    let error = Dialect::Gemini.decode(b"{\"a\":\"\xFF\"}", WireLimits::default()).unwrap_err();
    assert_eq!(error.to_string(), "the body is no UTF-8");
    let error = assembled(MESSAGES, [&b"data: {\"a\":\"\xFF\"}\n\n"[..]]).unwrap_err();
    assert_eq!(error.to_string(), "an event of the stream is no UTF-8");
    stream(
        MESSAGES,
        "upstream connect error\n",
        "Unreadable (the stream holds no event; it begins with: upstream connect error)",
    );
    stream(MESSAGES, "", "Unreadable (nothing came)");
    stream(Dialect::OpenAiChat, "data: [DONE]\n\n", "Foreign (the stream holds no reply)");
    let long = Dialect::Gemini.decode(&[b'x'; 5000], WireLimits::default()).unwrap_err();
    assert!(long.to_string().chars().count() < 500, "{long}");
    assert_eq!(long.fault().blame, "infrastructure");
}

#[test]
fn odd_members_lose_no_call() {
    let wanted = "says Hi | a get {\"n\":1} | ends";
    let odd = r#""id":7,"usage":"none","created":null,"extra":{"deep":[[[]]]},"model":["x"]"#;
    body(
        Dialect::OpenAiChat,
        &format!(
            r#"{{{odd},"choices":[{{"index":"0","logprobs":7,"message":{{"role":4,"content":"Hi",
            "annotations":"x","tool_calls":[{{"index":null,"id":"a","type":9,
            "function":{{"name":"get","arguments":"{{\"n\":1}}","strict":"?"}}}}]}},
            "finish_reason":"tool_calls"}}]}}"#
        ),
        &format!("{wanted} tool_calls"),
    );
    body(
        RESPONSES,
        &format!(
            r#"{{{odd},"status":"completed","error":null,"output":[7,{{"type":"web_search_call"}},
            {{"type":"message","content":[{{"type":"output_text","text":"Hi","annotations":4}},3]}},
            {{"type":"function_call","id":[],"call_id":"a","name":"get","arguments":"{{\"n\":1}}",
            "status":{{}}}}]}}"#
        ),
        &format!("{wanted} stop"),
    );
    body(
        MESSAGES,
        &format!(
            r#"{{{odd},"content":[{{"type":"server_tool_use","id":"s","name":"x","input":{{}}}},7,
            {{"type":"text","text":"Hi","citations":9}},{{"type":"text","text":7}},
            {{"type":"tool_use","id":"a","name":"get","input":{{"n":1}},"caller":4}}],
            "stop_reason":"tool_use"}}"#
        ),
        &format!("{wanted} tool_calls"),
    );
    body(
        Dialect::Gemini,
        &format!(
            r#"{{{odd},"candidates":[{{"index":"0","safetyRatings":"x","content":{{"parts":[5,
            {{"text":"Hi","thought":false}},{{"inlineData":{{}}}},{{"thoughtSignature":"x"}},
            {{"functionCall":{{"id":"a","name":"get","args":{{"n":1}},"x":1}},"y":2}}]}},
            "finishReason":"STOP"}}],"promptFeedback":{{}}}}"#
        ),
        &format!("{wanted} stop"),
    );
}

/// The events of a stream, each with its name.
fn events(events: &[&str]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

const BLOCKS: [&str; 9] = [
    r#"{"type":"message_start","message":{"id":"m","content":[]}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"get","input":{}}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"n\":1}"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"now","input":{}}}"#,
    r#"{"type":"content_block_stop","index":1}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
    r#"{"type":"message_stop"}"#,
];

#[test]
fn blocks_of_messages() {
    let check = |count: usize, rest: &[&str], expected: &str| {
        stream(MESSAGES, &(events(&BLOCKS[..count]) + &events(rest)), expected);
    };
    let both = r#"a get {"n":1} | b now {}"#;
    check(9, &[], &format!("{both} | ends tool_calls"));
    check(8, &[], &format!("{both} | ends tool_calls"));
    check(8, &[r#"{"type":"ping"}"#, "[DONE]"], &format!("{both} | ends tool_calls"));
    check(7, &[], &format!("{WHY} | a get {{\"n\":1}} | b now {{}}… {CUT}"));
    check(5, &[], &format!("{WHY} | a get {{\"n\":1}}… {CUT}"));
    check(3, &[], &format!("{WHY} | a get {{}}… {CUT}"));
    check(1, &[BLOCKS[8]], "");
    let limit = r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#;
    check(7, &[limit], &format!("a get {{\"n\":1}} | b now {{}}… {CUT} | ends length"));
    let failed = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    check(
        6,
        &[failed],
        &format!(
            "Provider (the provider failed: overloaded_error: Overloaded) | a get {{\"n\":1}} | \
             b now {{}}… {CUT}"
        ),
    );
    // Names of events outside their data, and the whole input at the beginning of its block.
    stream(
        MESSAGES,
        "event: content_block_start\ndata: {\"content_block\":{\"type\":\"tool_use\",\"name\":\"get\",\"input\":{\"n\":1}}}\n\nevent: message_stop\ndata: {}\n\n",
        r#"- get {"n":1}"#,
    );
    // Input for a block that never began.
    check(
        2,
        &[
            r#"{"type":"content_block_delta","index":7,"delta":{"partial_json":"{\"n\":1}"}}"#,
            BLOCKS[8],
        ],
        "a get {} | -  {\"n\":1}",
    );
    let texts = events(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"x"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"server_tool_use","id":"s","name":"x"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"refusal"}}"#,
    ]);
    stream(MESSAGES, &texts, "thinks hm | says Hi | ends refusal");
    body(MESSAGES, r#"{"content":[],"stop_reason":"end_turn"}"#, "ends stop");
    body(
        MESSAGES,
        r#"{"content":[{"type":"tool_use","name":"get","input":"{\"n\":1}"},
            {"type":"tool_use","name":"now"}],"stop_reason":"tool_use"}"#,
        r#"- get {"n":1} | - now  | ends tool_calls"#,
    );
}

const ITEMS: [&str; 6] = [
    r#"{"type":"response.created","response":{"status":"in_progress"}}"#,
    r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"a","name":"get","arguments":""}}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f","delta":"{\"n\""}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f","delta":":1}"}"#,
    r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f","call_id":"a","name":"get","arguments":"{\"n\":1}","status":"completed"}}"#,
    r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
];

#[test]
fn items_of_responses() {
    let check = |count: usize, rest: &[&str], expected: &str| {
        stream(RESPONSES, &(events(&ITEMS[..count]) + &events(rest)), expected);
    };
    // The last event may leave out what was told (some gateways), and is the truth where not.
    check(6, &[], r#"a get {"n":1} | ends stop"#);
    let truth = r#"{"type":"response.completed","response":{"output":[{"type":"function_call","call_id":"a","name":"get","arguments":"{\"n\":2}"}]}}"#;
    check(4, &[truth], r#"a get {"n":2} | ends stop"#);
    check(5, &[], &format!("{WHY} | a get {{\"n\":1}}"));
    check(4, &[], &format!("{WHY} | a get {{\"n\":1}}… {CUT}"));
    check(2, &["[DONE]"], &format!("{WHY} | a get … {CUT}"));
    // Arguments only at the end, in one piece.
    let done =
        r#"{"type":"response.function_call_arguments.done","item_id":"f","arguments":"{\"n\":1}"}"#;
    check(2, &[done, ITEMS[5]], r#"a get {"n":1} | ends stop"#);
    // An end that leaves out the arguments it told before, under another name.
    let bare = ITEMS[4].replace(r#""{\"n\":1}""#, "\"\"").replace("\"f\"", "\"g\"");
    check(4, &[&bare, ITEMS[5]], r#"a get {"n":1} | ends stop"#);
    let short = ITEMS[4].replace("completed", "incomplete");
    let limit = r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#;
    check(4, &[&short, limit], &format!("a get {{\"n\":1}}… {CUT} | ends length"));
    check(4, &[limit], &format!("a get {{\"n\":1}}… {CUT} | ends length"));
    check(5, &[limit], r#"a get {"n":1} | ends length"#);
    let failed = r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"boom"}}}"#;
    let fault = "Provider (the provider failed: server_error: boom)";
    check(5, &[failed], &format!("{fault} | a get {{\"n\":1}}"));
    let failed = r#"{"type":"error","code":"server_error","message":"boom"}"#;
    check(4, &[failed], &format!("{fault} | a get {{\"n\":1}}… {CUT}"));
    // Arguments for an item that never began.
    check(0, &[ITEMS[3], ITEMS[5]], "-  :1} | ends stop");
    let texts = events(&[
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"hm"}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"delta":"H"}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"delta":"i"}"#,
        r#"{"type":"response.refusal.delta","output_index":2,"delta":"!"}"#,
        ITEMS[5],
    ]);
    stream(RESPONSES, &texts, "thinks hm | says Hi! | ends stop");
    body(
        RESPONSES,
        r#"{"status":"incomplete","incomplete_details":{"reason":"content_filter"},
            "output":[{"type":"message","content":[{"type":"refusal","refusal":"No."}]},
            {"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},
            {"type":"custom_tool_call","call_id":"c","name":"sh","input":"ls"}]}"#,
        "thinks hm | says No. | c sh ls | ends content_filter",
    );
    body(
        RESPONSES,
        r#"{"status":"queued","output":[]}"#,
        "Cut (the response is `queued`, and not at its end)",
    );
    body(
        RESPONSES,
        r#"{"status":"failed","output":[]}"#,
        "Provider (the provider failed: the response is failed)",
    );
}

#[test]
fn parts_of_gemini() {
    let gemini = |text: &str, expected: &str| stream(Dialect::Gemini, text, expected);
    let chunk = |parts: &str, end: &str| {
        format!("{{\"candidates\":[{{\"content\":{{\"parts\":[{parts}]}}{end}}}]}}")
    };
    const STOP: &str = ",\"finishReason\":\"STOP\"";
    let first =
        chunk(r#"{"text":"hm","thought":true},{"functionCall":{"name":"get","args":{"n":1}}}"#, "");
    let second = chunk(r#"{"functionCall":{"name":"get","args":{"n":2}}}"#, STOP);
    let usage = r#"{"usageMetadata":{"totalTokenCount":3}}"#;
    let wanted = r#"thinks hm | - get {"n":1} | - get {"n":2} | ends stop"#;
    gemini(&events(&[&first, &second, usage]), wanted);
    // The other form: a list, which may break off too.
    gemini(&format!("[{first}\n,\r\n{second},{usage}]\n"), wanted);
    body(Dialect::Gemini, &format!("[{first},{second}]"), wanted);
    gemini(
        &format!("[{first},{}", &second[..20]),
        "Cut (the body ends inside its JSON) | thinks hm | - get {\"n\":1}",
    );
    gemini(&format!("[{first}]"), &format!("{WHY} | thinks hm | - get {{\"n\":1}}"));
    gemini(&events(&[&first]), &format!("{WHY} | thinks hm | - get {{\"n\":1}}"));
    body(Dialect::Gemini, &first, "thinks hm | - get {\"n\":1}");
    // A call without arguments, and one whose arguments come in another form.
    let blank = chunk(r#"{"functionCall":{"name":"now"}}"#, STOP);
    gemini(&events(&[&blank]), "- now  | ends stop");
    let pieces = events(&[
        &chunk(r#"{"functionCall":{"name":"get","willContinue":true}}"#, ""),
        &chunk(r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.n"}],"willContinue":true}}"#, ""),
        &chunk("", STOP),
    ]);
    gemini(&pieces, "- get … [its arguments came in a form that is not read] | ends stop");
    // A call that the model could not write is no answer, and its own fault.
    let lost = "{\"candidates\":[{\"content\":{},\"finishReason\":\"MALFORMED_FUNCTION_CALL\",\"finishMessage\":\"print(x)\"}]}";
    let expected = "Model (the model wrote a call that is none: MALFORMED_FUNCTION_CALL print(x))";
    body(Dialect::Gemini, lost, expected);
    let error = Dialect::Gemini.decode(lost.as_bytes(), WireLimits::default()).unwrap_err();
    assert_eq!(error.fault().blame, "model");
    body(
        Dialect::Gemini,
        r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#,
        "Provider (the provider failed: the prompt was blocked: SAFETY)",
    );
    body(
        Dialect::Gemini,
        r#"{"candidates":[{"content":{"parts":[{"function_call":{"name":"now"}}]},"finish_reason":"MAX_TOKENS"}]}"#,
        "- now  | ends length",
    );
}
