//! From text to index terms: word and identifier splitting, stop words and stemming.
//!
//! The same rules run over tool texts and prompts. A word is a run of letters and digits;
//! inside it the borders of an identifier (`camelCase`, `HTTPServer`, `ai2sql`) part it again,
//! while the whole is kept as well, so `WordPress` meets both `wordpress` and `word press`.

use rust_stemmers::{Algorithm, Stemmer};

/// Longest word, in bytes, that is stemmed, split or compared by its letters; longer ones are
/// noise (base64, hashes) and are kept as they are, cut to this length.
pub(super) const MAX_WORD: usize = 40;

/// Words that carry no subject: articles, pronouns, auxiliaries, and the phrases of asking.
const STOP: &str = "a an the this that these those some any each every all both either neither \
    such same other another own i me my mine myself you your yours yourself he him his she her \
    hers it its itself we us our ours they them their theirs whom whose which what why there \
    here am is are was were be been being do does did doing done have has had having can could \
    may might must shall should will would ought and or but nor so yet if then else than as of \
    at by for with about against into through during above below to from in under further once \
    also too very just only not no yes few lot please kindly hi hello hey thanks thank ok okay \
    oh wow um let lets im ive id ill dont doesnt cant wont isnt didnt couldnt wouldnt arent \
    youre theres thats whats want wants wanted need needs needed like liked wish hoping hope \
    wondering wonder helping assist assistance able possible possibly providing sure maybe \
    perhaps really actually currently specific specifically particular particularly including \
    include includes included various regarding concerning related based using use uses used \
    via per etc eg ie something anything everything someone anyone way ways thing things kind \
    sort bit one ones two while since because however though although even never always often \
    trying tried without within upon across along around among toward towards until unless \
    whether http https www com org net html";

/// Particles and words of asking that now and then tell tools apart (`turn off`, `go back`); they
/// count with little weight.
const LIGHT: &str = "who when where how out up down on off over again before after between give \
    gives given get gets getting got show shows know tell going go goes come take taking start \
    keep make help helps provide provides provided try looking look think already now still \
    ever many much most more back";

/// Request words that say little of the subject; they count, but with less weight.
const WEAK: &str = "find search information info detail details best good great recommend \
    recommendation suggest suggestion question answer option list new latest recent current \
    today time available access quick quickly easy easily user people different popular \
    interested interesting improve tool app application website online work working ask check \
    explain understand learn add enter let world favorite experience comprehensive support \
    offer offers create generate plan planning unique explore discover real day year week \
    month number amount high quality top full free data service content chat ai chatbot plugin \
    assistant platform feature type name special specified choose select required ensure";

/// One index term found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// The word in lower case, before stemming.
    pub(super) word: String,
    /// Its parts where the word is an identifier of several (`WordPress`: `word`, `press`).
    pub(super) parts: Vec<String>,
}

/// Splits `text` into words in lower case. Apostrophes fall out (`Father's`: `father`), digits
/// alone are no words, and scripts written without spaces come out as overlapping pairs.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    each_token(text, |word, parts| {
        out.push(Token { word: word.to_string(), parts: parts.to_vec() });
    });
    out
}

/// Calls with every word of a text and its parts, as [`tokens`] lists them.
pub(super) fn each_token(text: &str, mut call: impl FnMut(&str, &[String])) {
    let mut start = None;
    let mut plain = String::new();
    for (i, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let inside = c.is_alphanumeric() || c == '\'' || c == '\u{2019}';
        match (inside, start) {
            (true, None) => start = Some(i),
            (false, Some(s)) => {
                let run = &text[s..i];
                if is_plain(run.as_bytes()) {
                    plain.clear();
                    plain.push_str(run);
                    plain.make_ascii_lowercase();
                    call(&plain, &[]);
                } else {
                    odd_run(run, &mut call);
                }
                start = None;
            }
            _ => {}
        }
    }
}

/// Whether a run is one ordinary word of a to z, in lower case, capitalised or in upper case.
fn is_plain(run: &[u8]) -> bool {
    let Some((first, rest)) = run.split_first() else { return false };
    run.len() <= MAX_WORD
        && first.is_ascii_alphabetic()
        && (rest.iter().all(u8::is_ascii_lowercase)
            || (first.is_ascii_uppercase() && rest.iter().all(u8::is_ascii_uppercase)))
}

/// Turns one run of letters, digits and apostrophes of any sort into tokens.
fn odd_run(run: &str, call: &mut impl FnMut(&str, &[String])) {
    let run = bare(&run.replace('\u{2019}', "'"));
    if run.is_empty() || run.chars().all(char::is_numeric) {
        return;
    }
    if run.chars().any(unspaced) {
        pairs(&run, call);
        return;
    }
    let mut parts = identifier_parts(&run);
    if parts.len() > 1 {
        parts.retain(|p| p.chars().nth(1).is_some() && !p.chars().all(char::is_numeric));
    } else {
        parts.clear();
    }
    call(cut(&run.to_lowercase()), &parts);
}

/// Drops the apostrophes of a run together with a short English ending (`'s`, `'d`, `'re`).
fn bare(run: &str) -> String {
    let run = run.trim_matches('\'');
    match run.rsplit_once('\'') {
        Some((head, tail)) if !head.is_empty() && tail.len() <= 2 && tail != "t" => {
            head.replace('\'', "")
        }
        _ => run.replace('\'', ""),
    }
}

/// Overlapping pairs of characters, for scripts without spaces between words.
fn pairs(run: &str, call: &mut impl FnMut(&str, &[String])) {
    let chars: Vec<char> = run.chars().flat_map(char::to_lowercase).collect();
    for pair in chars.windows(chars.len().clamp(1, 2)) {
        call(&pair.iter().collect::<String>(), &[]);
    }
}

/// Whether a character belongs to a script written without spaces (Han, Kana, Hangul, Thai).
fn unspaced(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0E7F}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{20000}'..='\u{2FA1F}')
}

/// The longest prefix of at most [`MAX_WORD`] bytes that ends between two characters.
fn cut(word: &str) -> &str {
    &word[..word.floor_char_boundary(MAX_WORD)]
}

/// Parts of an identifier in lower case, at the borders lower-upper, acronym-word and
/// letter-digit. A plain word is its own single part.
pub(super) fn identifier_parts(run: &str) -> Vec<String> {
    let chars: Vec<char> = run.chars().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for i in 1..chars.len() {
        let (before, here) = (chars[i - 1], chars[i]);
        let next_lower = chars.get(i + 1).is_some_and(|c| c.is_lowercase());
        let border = (before.is_lowercase() && here.is_uppercase())
            || (before.is_uppercase() && here.is_uppercase() && next_lower)
            || (before.is_numeric() != here.is_numeric());
        if border {
            parts.push(lower(&chars[start..i]));
            start = i;
        }
    }
    if start < chars.len() {
        parts.push(lower(&chars[start..]));
    }
    parts
}

/// Lower-case text of a slice of characters, cut to [`MAX_WORD`] bytes.
fn lower(chars: &[char]) -> String {
    let text: String = chars.iter().take(MAX_WORD).flat_map(|c| c.to_lowercase()).collect();
    cut(&text).to_string()
}

/// Stems and classifies words.
pub(super) struct Stems {
    stemmer: Stemmer,
    stop: std::collections::HashSet<&'static str>,
    weak: std::collections::HashSet<String>,
    light: std::collections::HashSet<String>,
}

/// The rules of English, made once: Porter2 ("Snowball English", Porter 2001) and the two lists.
pub(super) fn stems() -> &'static Stems {
    static STEMS: std::sync::LazyLock<Stems> = std::sync::LazyLock::new(|| {
        let stemmer = Stemmer::create(Algorithm::English);
        let weak = WEAK.split_whitespace().map(|w| stemmer.stem(w).into_owned()).collect();
        let light = LIGHT.split_whitespace().map(|w| stemmer.stem(w).into_owned()).collect();
        Stems { stemmer, stop: STOP.split_whitespace().collect(), weak, light }
    });
    &STEMS
}

impl Stems {
    /// The stem of a word in lower case. Words with anything but a to z stay as they are.
    pub(super) fn stem(&self, word: &str) -> String {
        let plain = word.len() > 2
            && word.len() <= MAX_WORD
            && word.bytes().all(|b| b.is_ascii_lowercase());
        if plain { self.stemmer.stem(word).into_owned() } else { word.to_string() }
    }

    /// Whether a word in lower case carries no subject at all; single letters do not either.
    pub(super) fn is_stop(&self, word: &str) -> bool {
        word.len() < 2 || self.stop.contains(word)
    }

    /// Whether a stem is a particle or a word of asking.
    pub(super) fn is_light(&self, stem: &str) -> bool {
        self.light.contains(stem)
    }

    /// Whether a stem belongs to a request word of little subject.
    pub(super) fn is_weak(&self, stem: &str) -> bool {
        self.weak.contains(stem)
    }
}

/// Splits a run-together word (`airqualityforecast`) into known words.
///
/// Dynamic programming over cut positions: a known word of n letters (n >= 3) earns n * n - n
/// and an unknown letter nothing, so long words win over chains of short ones. Answers nothing
/// unless two words or more come out and they cover three quarters of the letters.
pub(super) fn split_known(word: &str, known: &dyn Fn(&str) -> bool) -> Vec<String> {
    let n = word.len();
    if !(6..=MAX_WORD).contains(&n) || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return Vec::new();
    }
    // best[i]: (gain, start of the piece that ends at i, whether that piece is a known word)
    let mut best = vec![(0_usize, 0_usize, false); n + 1];
    for end in 1..=n {
        best[end] = (best[end - 1].0, end - 1, false);
        for start in 0..=end.saturating_sub(3) {
            let size = end - start;
            if size == n || !known(&word[start..end]) {
                continue;
            }
            let gain = best[start].0 + size * size - size;
            if gain > best[end].0 {
                best[end] = (gain, start, true);
            }
        }
    }
    let (mut found, mut covered, mut end) = (Vec::new(), 0, n);
    while end > 0 {
        let (_, start, is_word) = best[end];
        if is_word {
            found.push(word[start..end].to_string());
            covered += end - start;
        }
        end = start;
    }
    found.reverse();
    if found.len() >= 2 && covered * 4 >= n * 3 { found } else { Vec::new() }
}

/// Sorted, distinct letter trigrams of a word in a to z with a mark before and after it, each
/// as a number below 28^3; none for other words and for words of less than four letters.
pub(super) fn trigrams(word: &str) -> Vec<usize> {
    if !(4..=MAX_WORD).contains(&word.len()) || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return Vec::new();
    }
    let letters = word.bytes().map(|b| usize::from(b - b'a') + 1);
    let marked: Vec<usize> = std::iter::once(0).chain(letters).chain([27]).collect();
    let mut grams: Vec<usize> = marked.windows(3).map(|w| (w[0] * 28 + w[1]) * 28 + w[2]).collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
