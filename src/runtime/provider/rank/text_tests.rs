use super::*;

/// Every word of a text with its parts, joined for a table.
fn flat(text: &str) -> String {
    let show = |t: &Token| match t.parts.is_empty() {
        true => t.word.clone(),
        false => format!("{}({})", t.word, t.parts.join(" ")),
    };
    tokens(text).iter().map(show).collect::<Vec<_>>().join(" ")
}

#[test]
fn texts_split_into_words() {
    let rows = [
        ("", ""),
        ("  ,;. ", ""),
        ("get_weather", "get weather"),
        ("getWeather", "getweather(get weather)"),
        ("WordPress blog", "wordpress(word press) blog"),
        ("HTTPServer", "httpserver(http server)"),
        ("AI2sql", "ai2sql(ai sql)"),
        ("PDF&URLTool", "pdf urltool(url tool)"),
        ("math.factorial", "math factorial"),
        ("2-day forecast", "day forecast"),
        ("roll 2d20 now", "roll 2d20 now"),
        ("Father's day, Fathers' day", "father day fathers day"),
        ("Father\u{2019}s", "father"),
        ("don't I'd", "dont i"),
        ("état naïve", "état naïve"),
        ("STRASSE ẞ", "strasse ß"),
        ("天気予報", "天気 気予 予報"),
        ("天", "天"),
        ("날씨 앱", "날씨 앱"),
        ("''''", ""),
        ("x\u{0}y", "x y"),
        ("12345", ""),
        ("\u{1F600} smile", "smile"),
    ];
    for (text, want) in rows {
        assert_eq!(flat(text), want, "{text:?}");
    }
}

#[test]
fn long_words_are_cut_between_characters() {
    for text in ["a".repeat(1 << 20), "é".repeat(100_000), "aB".repeat(1000), "9a".repeat(5000)] {
        for token in tokens(&text) {
            assert!(token.word.len() <= MAX_WORD);
            assert!(token.parts.iter().all(|p| p.len() <= MAX_WORD));
        }
    }
}

#[test]
fn identifiers_part_at_their_borders() {
    let rows: [(&str, &[&str]); 8] = [
        ("weather", &["weather"]),
        ("airQuality", &["air", "quality"]),
        ("XMLHttpRequest", &["xml", "http", "request"]),
        ("C3PO", &["c", "3", "po"]),
        ("v2", &["v", "2"]),
        ("ABC", &["abc"]),
        ("ÄrgerTool", &["ärger", "tool"]),
        ("", &[]),
    ];
    for (run, want) in rows {
        assert_eq!(identifier_parts(run), want, "{run}");
    }
}

#[test]
fn words_are_stemmed_and_classified() {
    let stems = stems();
    for (word, stem) in [
        ("running", "run"),
        ("companies", "compani"),
        ("forecasts", "forecast"),
        ("ai", "ai"),
        ("naïve", "naïve"),
        ("d20", "d20"),
    ] {
        assert_eq!(stems.stem(word), stem);
    }
    for (word, stop) in [("the", true), ("please", true), ("x", true), ("weather", false)] {
        assert_eq!(stems.is_stop(word), stop, "{word}");
    }
    assert!(stems.is_weak("inform") && !stems.is_weak("weather"));
}

#[test]
fn run_together_names_split_by_known_words() {
    let known = ["air", "quality", "forecast", "cast", "park", "car", "theme", "web", "site"];
    let is_known = |w: &str| known.contains(&w);
    let rows: [(&str, &[&str]); 9] = [
        ("airqualityforecast", &["air", "quality", "forecast"]),
        ("airqualityforeast", &[]), // too little is known
        ("carpark", &["car", "park"]),
        ("xcarpark", &["car", "park"]),
        ("forecast", &[]), // a known word is not split by itself
        ("themeparkhipster", &[]),
        ("website", &["web", "site"]),
        ("car", &[]),
        ("käsepark", &[]),
    ];
    for (word, want) in rows {
        assert_eq!(split_known(word, &is_known), want, "{word}");
    }
}

#[test]
fn trigrams_are_sorted_distinct_and_in_range() {
    for word in ["banana", "weather", "aaaaaaaa", "zzzz"] {
        let grams = trigrams(word);
        assert!(grams.windows(2).all(|w| w[0] < w[1]));
        assert!(grams.iter().all(|g| *g < 28 * 28 * 28));
    }
    assert_eq!(trigrams("aaaaaaaa").len(), 3);
    for word in ["", "abc", "naïve", "d20x", "Upper"] {
        assert!(trigrams(word).is_empty(), "{word}");
    }
}
