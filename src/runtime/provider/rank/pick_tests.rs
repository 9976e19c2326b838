use serde_json::json;

use super::*;

fn doc(name: &str, summary: &str) -> ToolDoc {
    ToolDoc { name: name.into(), summary: summary.into(), ..ToolDoc::default() }
}

/// Two tools alike in words and different in parameters, and others.
fn picker() -> Picker {
    let mut docs = vec![
        doc("open_ticket", "Opens an item of work."),
        doc("open_page", "Opens an item of the web."),
    ];
    docs.extend(["x", "y", "z"].map(|name| doc(name, "quite another thing")));
    let text = json!({ "type": "string" });
    let ticket = json!({ "properties": { "mail": { "type": "string", "format": "email" } },
        "required": ["mail"] });
    let page = json!({ "properties": { "url": text }, "required": ["url"] });
    Picker::build(&docs, vec![ticket, page])
}

#[test]
fn values_decide_between_tools_alike() {
    let picker = picker();
    let first = |prompt: &str| picker.pick(prompt, 5).ranking.hits[0].tool;
    assert_eq!(first("open the item for bob@example.com"), 0);
    assert_eq!(first("open the item at https://example.com/a"), 1);
    let pick = picker.pick("open the item at https://example.com/a", 5);
    assert_eq!(pick.extracted.arguments["url"], "https://example.com/a");
    assert_eq!(pick.ranking.arguments, 1.0);
}

#[test]
fn a_required_parameter_without_a_value_lowers_confidence() {
    let picker = picker();
    let open = picker.pick("open the item", 5);
    let full = picker.pick("open the item at https://example.com/a", 5);
    assert_eq!(open.ranking.arguments, 0.0);
    assert_eq!(open.extracted.missing_required.len(), 1);
    assert!(open.confidence.value < full.confidence.value);
    assert!(open.confidence.value > 0.0);
}

#[test]
fn the_terms_of_each_hit_sum_to_its_score() {
    let picker = picker();
    for prompt in ["open the item", "open work for bob@example.com \"x\" 5", "", "web thing"] {
        let pick = picker.pick(prompt, 5);
        assert_eq!(pick.terms.len(), pick.ranking.hits.len());
        for (hit, terms) in pick.ranking.hits.iter().zip(&pick.terms) {
            let sum: f64 = terms.iter().map(|t| t.weight).sum();
            assert!((sum - hit.score).abs() < 1e-9, "{prompt}: {sum} {}", hit.score);
            let key = |t: &Term| (t.term.clone(), t.field);
            assert!(terms.windows(2).all(|two| key(&two[0]) < key(&two[1])), "sorted: {terms:?}");
        }
    }
    let pick = picker.pick("open the item for bob@example.com", 5);
    let changed = |term: &Term| term.term == ARGUMENTS && term.field == Field::Parameters;
    assert!(pick.terms[0].iter().any(|t| changed(t) && t.weight > 0.0));
    assert!(pick.terms[1].iter().any(|t| changed(t) && t.weight < 0.0));
}

#[test]
fn no_tools_and_no_top_are_fine() {
    for top in [0, 1] {
        let pick = Picker::build(&[], vec![json!({})]).pick("open the item", top);
        assert!(pick.ranking.hits.is_empty() && pick.terms.is_empty());
        assert_eq!(pick.confidence.value, 0.0);
    }
    assert!(picker().pick("open the item", 0).ranking.hits.is_empty());
}
