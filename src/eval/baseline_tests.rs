//! Whatever a baseline holds, it reads back, and comparing it with itself finds nothing.

use proptest::prelude::*;

use super::*;

fn rows() -> impl Strategy<Value = Vec<Row>> {
    // Names that a model invents end up in rows: any text at all.
    let text = || prop_oneof![any::<String>(), "[a-c;,\"\r\n ]{0,6}", Just(String::new())];
    let row = (text(), text(), text(), text(), any::<u64>(), any::<[u8; 4]>()).prop_map(
        |(case_id, provider, proposed, missing, approvals, evidence)| Row {
            verdict: "pass".to_owned(),
            unexpected: proposed.clone(),
            args_ok: provider.clone(),
            laws_broken: case_id.clone(),
            case_id,
            provider,
            proposed,
            missing,
            approvals,
            evidence: Digest::of("e", &evidence),
        },
    );
    let distinct = |mut rows: Vec<Row>| {
        rows.sort();
        rows.dedup_by(|a, b| a.key() == b.key());
        rows
    };
    prop::collection::vec(row, 0..6).prop_map(distinct)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_rows_read_back_and_equal_themselves(rows in rows()) {
        let text = write(&rows);
        let read = read("b.csv", &text);
        let sorted = rows;
        prop_assert_eq!(read, Ok(sorted.clone()));
        prop_assert_eq!(write(&sorted), text);
        let found = compare(&sorted, &sorted, true);
        prop_assert_eq!((found.differences.len(), found.remeasured), (0, 0));
        prop_assert_eq!(found.same, sorted.len());
    }

    #[test]
    fn every_case_of_either_side_is_accounted_for(
        before in prop::collection::btree_map(0..8_u8, (0..3_u8, 0..2_u8), 0..8),
        after in prop::collection::btree_map(0..8_u8, (0..3_u8, 0..2_u8), 0..8),
    ) {
        let list = |rows: &BTreeMap<u8, (u8, u8)>| -> Vec<Row> {
            let verdict = ["pass", "fail", "flaky"];
            rows.iter().map(|(id, (result, evidence))| Row {
                case_id: id.to_string(),
                provider: "chooser".to_owned(),
                verdict: verdict[usize::from(*result)].to_owned(),
                proposed: String::new(),
                missing: String::new(),
                unexpected: String::new(),
                args_ok: String::new(),
                approvals: 0,
                laws_broken: String::new(),
                evidence: Digest::of("e", &[*evidence]),
            }).collect()
        };
        let found = compare(&list(&before), &list(&after), true);
        let all: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
        prop_assert_eq!(found.differences.len() + found.remeasured + found.same, all.len());
        let count = |change| found.differences.iter().filter(|d| d.change == change).count();
        let only = |a: &BTreeMap<u8, _>, b: &BTreeMap<u8, (u8, u8)>| {
            a.keys().filter(|key| !b.contains_key(key)).count()
        };
        prop_assert_eq!(count(Change::New), only(&after, &before));
        prop_assert_eq!(count(Change::Gone), only(&before, &after));
        let lost = |id: &u8| before[id].0 == 0 && after.get(id).is_some_and(|row| row.0 != 0);
        prop_assert_eq!(count(Change::Worse), before.keys().filter(|id| lost(id)).count());
    }
}

#[test]
fn a_damaged_row_is_named_by_its_own_line() {
    let header = HEADER.join(",");
    let evidence = Digest::of("e", b"");
    let good = format!("a,chooser,pass,\"two\nlines\",,,,0,,{evidence}");
    // Line 5 repeats the case of line 2.
    let lines = |text: &str| -> Vec<usize> {
        read("b.csv", text).unwrap_err().iter().map(|problem| problem.at.line).collect()
    };
    assert_eq!(lines(&format!("{header}\n{good}\nb,chooser\n{good}\n,,,,,,,x,,\n")), [4, 5, 7]);
    assert_eq!(lines("x,y\n"), [1]);
    assert_eq!(lines(""), [1]);
}
