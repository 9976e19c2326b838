use proptest::prelude::*;

use super::*;

fn doc(name: &str, summary: &str) -> ToolDoc {
    ToolDoc { name: name.into(), summary: summary.into(), ..ToolDoc::default() }
}

/// A small list of tools of different matters.
fn tools() -> Vec<ToolDoc> {
    let mut tools = vec![
        doc("get_weather", "Current weather and forecast for a city."),
        doc("currencyConverter", "Converts an amount of money from one currency to another."),
        doc("airqualityreport", "Reports the air quality of a place today."),
        doc("send_email", "Sends an email message to a recipient."),
        doc("search_papers", "Finds academic papers in a library of research."),
        doc("delete_file", "Deletes a file from the disk."),
        doc("WordPress", "Publishes posts on a blog."),
    ];
    tools[0].avoid_when = "Not for historical climate statistics.".into();
    tools[0].examples = "Will it rain in Oslo tomorrow?".into();
    tools[3].parameters = "to subject body attachment".into();
    tools[5].use_when = "The user wants to erase a document for good.".into();
    tools
}

fn first(query: &str) -> Option<usize> {
    Index::build(&tools()).rank(query, 3).hits.first().map(|h| h.tool)
}

#[test]
fn the_right_tool_comes_first() {
    let rows = [
        ("what is the weather in Paris", Some(0)),
        ("get weather", Some(0)),
        ("will it be sunny and warm, do I need an umbrella", Some(0)), // by the thesaurus
        ("convert 5 dollars to euros", Some(1)),
        ("currency_converter", Some(1)),
        ("exchange rate of the yen", Some(1)),
        ("quality of the air", Some(2)), // a run-together name, split
        ("wether forcast", Some(0)),     // misspelt
        ("e-mail bob a message", Some(3)),
        ("add an attachment", Some(3)), // by a parameter
        ("scholarly articles", Some(4)),
        ("remove the file", Some(5)),
        ("erase this document", Some(5)), // by use_when
        ("word press", Some(6)),
        ("wordpress", Some(6)),
        ("", None),
        ("the of and", None),
        ("zzzz qqqq", None),
        ("\u{0}\u{FFFF}", None),
    ];
    for (query, want) in rows {
        assert_eq!(first(query), want, "{query:?}");
    }
}

#[test]
fn avoid_when_counts_against_a_tool() {
    let mut tools = vec![doc("a", "weather reports"), doc("b", "weather reports")];
    tools.extend(["x", "y", "z", "u", "v", "w"].map(|name| doc(name, "quite another thing")));
    tools[0].avoid_when = "historical weather".into();
    let index = Index::build(&tools);
    let ranking = index.rank("historical weather statistics", 2);
    assert_eq!(ranking.hits.iter().map(|h| h.tool).collect::<Vec<_>>(), [1, 0]);
    let terms = index.explain("historical weather statistics", 0);
    let against: Vec<&Term> = terms.iter().filter(|t| t.field == Field::AvoidWhen).collect();
    assert!(against.iter().all(|t| t.weight < 0.0), "{terms:?}");
    assert!(against.iter().any(|t| t.term == "historical"), "{terms:?}");
    assert!(against.iter().all(|t| t.term != "weather"), "it is there for weather: {terms:?}");
}

#[test]
fn values_and_denied_words_do_not_say_what_is_asked() {
    let mut tools = vec![
        doc("run_tests", "Runs the tests of a project."),
        doc("read_file", "Reads a file and answers its whole content."),
        doc("delete_file", "Deletes a file."),
        doc("play_music", "Plays a song."),
    ];
    tools.extend(["x", "y", "z"].map(|name| doc(name, "quite another thing")));
    let index = Index::build(&tools);
    let rows = [
        ("the whole content of tests/run_tests.py", 1),
        ("the whole content of \"tests of the project\"", 1),
        ("whole content for tests=all", 1),
        ("play the music called \"delete the file\"", 3),
        ("read the file, don't delete it", 1),
        ("content of the file without tests", 1),
        ("the tests rather than a song", 0),
        // alone, a value still counts
        ("run_tests", 0),
    ];
    for (query, want) in rows {
        assert_eq!(index.rank(query, 3).hits.first().map(|h| h.tool), Some(want), "{query}");
    }
}

#[test]
fn ties_go_by_index_and_top_cuts() {
    let tools = vec![doc("x", "same text"), doc("x", "same text"), doc("x", "same text")];
    let index = Index::build(&tools);
    let all = index.rank("same text", 10);
    assert_eq!(all.hits.iter().map(|h| h.tool).collect::<Vec<_>>(), [0, 1, 2]);
    for top in 0..4 {
        let cut = index.rank("same text", top);
        assert_eq!(cut.hits, all.hits[..top.min(3)]);
        assert_eq!((cut.second, cut.coverage), (all.second, all.coverage));
    }
}

#[test]
fn empty_lists_and_empty_tools_rank_nothing() {
    for tools in [vec![], vec![ToolDoc::default()], vec![ToolDoc::default(); 3]] {
        let index = Index::build(&tools);
        assert_eq!(index.len(), tools.len());
        assert_eq!(index.is_empty(), tools.is_empty());
        assert!(index.rank("weather", 5).hits.is_empty());
        assert!(index.explain("weather", 0).is_empty());
        assert_eq!(confidence(&index.rank("weather", 5)), 0.0);
    }
}

#[test]
fn explain_sums_to_the_score() {
    let index = Index::build(&tools());
    for query in [
        "what is the weather in Paris",
        "historical climate statistics weather",
        "wether forcast umbrella rain",
        "word press blog posts",
        "send email attachment to the recipient of the message",
        "remove delete erase file document papers research",
    ] {
        for hit in index.rank(query, 10).hits {
            let terms = index.explain(query, hit.tool);
            let sum: f64 = terms.iter().map(|t| t.weight).sum();
            assert!((sum - hit.score).abs() < 1e-9, "{query}: {sum} {}", hit.score);
            let key = |t: &Term| (t.term.clone(), t.field);
            assert!(terms.windows(2).all(|w| key(&w[0]) < key(&w[1])), "sorted: {terms:?}");
        }
    }
    assert!(index.explain("weather", 7).is_empty());
    assert!(index.explain("weather", usize::MAX).is_empty());
    let terms = index.explain("rainy weather", 0);
    assert!(terms.iter().any(|t| t.term == "weather" && t.field == Field::Name));
    assert!(terms.iter().any(|t| t.term.starts_with('~')), "{terms:?}");
}

#[test]
fn coverage_and_confidence_rise_with_the_fit() {
    let index = Index::build(&tools());
    let sure = index.rank("current weather forecast for a city", 5);
    let part = index.rank("weather on the moons of jupiter and the price of tulips", 5);
    let none = index.rank("sing a lullaby", 5);
    assert!(sure.coverage > part.coverage);
    assert!(confidence(&sure) > confidence(&part));
    assert!(confidence(&part) > confidence(&none));
    for ranking in [&sure, &part, &none] {
        assert!((0.0..=1.0).contains(&confidence(ranking)));
        assert!((0.0..=1.0).contains(&ranking.coverage));
    }
    // each part alone moves the value in its own direction
    let base = Ranking {
        hits: vec![Hit { tool: 0, score: 2.0 }],
        query_terms: 3,
        coverage: 0.5,
        ideal: 4.0,
        second: 1.0,
        unit: 1.0,
        arguments: 0.5,
    };
    let value = |change: &dyn Fn(&mut Ranking)| {
        let mut ranking = base.clone();
        change(&mut ranking);
        confidence(&ranking)
    };
    let now = confidence(&base);
    assert!(value(&|r| r.coverage = 0.6) > now);
    assert!(value(&|r| r.second = 0.5) > now);
    assert!(value(&|r| r.ideal = 3.0) > now);
    assert!(value(&|r| r.hits[0].score = 2.5) > now);
    assert!(value(&|r| r.arguments = 0.6) > now);
    assert!(value(&|r| r.arguments = 0.0) > 0.0);
    assert!(value(&|r| r.hits.clear()) == 0.0);
}

#[test]
fn the_thesaurus_is_small_and_well_formed() {
    assert!(groups::GROUPS.len() < 150);
    for line in groups::GROUPS {
        assert_eq!(line.matches('|').count(), 1, "{line}");
        let words: Vec<&str> = line.split_whitespace().filter(|w| *w != "|").collect();
        let mut distinct = words.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(words.len(), distinct.len(), "a word twice: {line}");
        assert!(words.iter().all(|w| w.bytes().all(|b| b.is_ascii_alphanumeric())), "{line}");
    }
}

#[test]
fn huge_texts_stay_within_bounds() {
    let big = "weather forecast ".repeat(1 << 16);
    let odd = "a".repeat(1 << 20);
    let distinct: String = (0..200_000).map(|i| format!("w{i}x ")).collect();
    let index = Index::build(&[doc(&odd, &big), doc(&big, &distinct), doc("get_weather", "")]);
    for query in [&big, &odd, &distinct] {
        let ranking = index.rank(query, 5);
        assert!(ranking.hits.iter().all(|h| h.score.is_finite()));
        assert!(ranking.query_terms <= 96);
    }
}

#[test]
fn two_builds_agree_to_the_bit() {
    let (a, b) = (Index::build(&tools()), Index::build(&tools()));
    for query in ["weather report of the air", "convert mony", "erase papers"] {
        assert_eq!(a.rank(query, 9), b.rank(query, 9));
        assert_eq!(a.explain(query, 0), b.explain(query, 0));
    }
}

/// Text of any characters, often made of words the tools and the thesaurus know.
fn any_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("weather".to_string()),
        Just("air quality".to_string()),
        Just("getWeatherTool".to_string()),
        "\\PC{0,12}",
        "[a-zA-Z0-9_'.]{0,20}",
        any::<String>(),
    ];
    prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rank_never_panics_and_explains_itself(
        texts in prop::collection::vec((any_text(), any_text(), any_text()), 0..6),
        query in any_text(),
        top in 0_usize..8,
    ) {
        let docs: Vec<ToolDoc> = texts
            .into_iter()
            .map(|(name, summary, avoid_when)| ToolDoc {
                name, summary, avoid_when, ..ToolDoc::default()
            })
            .collect();
        let index = Index::build(&docs);
        let ranking = index.rank(&query, top);
        prop_assert!(ranking.hits.len() <= top.min(docs.len()));
        prop_assert!((0.0..=1.0).contains(&confidence(&ranking)));
        prop_assert!((0.0..=1.0).contains(&ranking.coverage));
        for hit in &ranking.hits {
            let sum: f64 = index.explain(&query, hit.tool).iter().map(|t| t.weight).sum();
            prop_assert!((sum - hit.score).abs() < 1e-9);
        }
    }
}
