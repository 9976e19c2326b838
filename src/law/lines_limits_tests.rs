//! Good and broken lines of the laws about caps and circles.
#![allow(clippy::unwrap_used)]

use super::lines_tests::check;

const ONE: &str = "view a; model; req 1 a; val 1; pol 1 allow; run 1; \
                   fin 1 ok result=w; set 1 succeeded; app 1; ";
const TWO: &str = "view a; model; req 2 a:1; val 2; pol 2 allow; run 2; \
                   fin 2 ok result=w; set 2 succeeded; app 2; ";
const OTHER: &str = "view a; model; req 3 a; val 3; pol 3 allow; run 3; \
                     fin 3 ok result=v; set 3 succeeded; app 3; ";
const LAST: &str = "view a; model; say done; end";

#[test]
fn caps_respected() {
    let line = |caps: &str| format!("open; user; {caps}{ONE}{TWO}{LAST}");
    for (caps, expect) in [
        ("caps 3 2; ", "holds 2"),
        ("caps 3; ", "holds 1"),
        ("caps 2 2; ", "asked more often"),
        ("caps 3 1; ", "c2 more calls started"),
    ] {
        check("caps-respected", "", &[(&line(caps), expect)]);
    }
    check("caps-respected", "", &[("open; user; caps 0; end", "not exercised")]);
}

#[test]
fn circles_are_noticed() {
    let line = |rest: &str| format!("open; user; circle 2; {ONE}{rest}");
    for (rest, expect) in [
        (format!("{TWO}warned; {LAST}"), "holds 1"),
        (format!("{TWO}circled; end"), "not exercised"),
        (format!("{TWO}{LAST}"), "c2 2 equal calls"),
        // Whatever stands between.
        (format!("{OTHER}{TWO}{LAST}"), "c2 2 equal calls"),
        (format!("{OTHER}{TWO}warned; {LAST}"), "holds 1"),
        (format!("{OTHER}{LAST}"), "not exercised"),
        (format!("{TWO}end"), "not exercised"),
    ] {
        check("circles-are-noticed", "", &[(&line(&rest), expect)]);
    }
    let exempt = format!("open; user; {ONE}{TWO}{LAST}");
    check("circles-are-noticed", "", &[(&exempt, "not exercised")]);
}

#[test]
fn a_circle_ends_the_turn() {
    let line = |rest: &str| format!("open; user; circle 9 2; {ONE}{rest}");
    for (rest, expect) in [
        (format!("{TWO}circled; end"), "holds 1"),
        (format!("{TWO}warned; {LAST}"), "c2 the model was asked again"),
        (format!("{OTHER}{LAST}"), "not exercised"),
    ] {
        check("circles-are-noticed", "", &[(&line(&rest), expect)]);
    }
}

#[test]
fn refusals_are_told_apart_by_the_arguments_as_they_were_judged() {
    let round = |call: &str, args: &str| {
        format!(
            "view a; model; req {call} a:1; val {call}{args}; set {call} denied told=w; app {call}; "
        )
    };
    let line = |one: &str, two: &str| {
        format!("open; user; circle 2; {}{}{LAST}", round("1", one), round("2", two))
    };
    for (one, two, expect) in [
        ("", "", "c2 2 equal calls"),
        (" args=x", " args=x", "c2 2 equal calls"),
        (" args=x", " args=y", "not exercised"),
        ("", " args=y", "not exercised"),
    ] {
        check("circles-are-noticed", "", &[(&line(one, two), expect)]);
    }
}

#[test]
fn refusals_go_in_circles() {
    let round = |call: &str, outcome: &str| {
        format!("view a; model; req {call} a:1; set {call} {outcome} told=w; app {call}; ")
    };
    for outcome in ["rejected", "unavailable", "denied", "blocked", "replaced"] {
        let twice = [round("1", outcome), round("2", outcome)].concat();
        let both = format!(
            "view a; model; req 1 a:1, 2 a:1; set 1 {outcome} told=w; \
             set 2 {outcome} told=w; app 1,2; "
        );
        let other = round("2", outcome).replace("a:1", "a:2");
        let reason = round("2", outcome).replace("told=w", "told=v");
        let ran = ONE.replace("req 1 a", "req 1 a:1");
        for (rest, expect) in [
            (format!("{twice}warned; {LAST}"), "holds 1"),
            (format!("{twice}{LAST}"), "c2 2 equal calls"),
            (format!("{twice}circled; end"), "not exercised"),
            // Who called twice at once had not been told.
            (format!("{both}{LAST}"), "not exercised"),
            // Other arguments, or another reason.
            (format!("{}{other}{LAST}", round("1", outcome)), "not exercised"),
            (format!("{}{reason}{LAST}", round("1", outcome)), "not exercised"),
            // What ran was no refusal.
            (format!("{ran}{}{LAST}", round("2", outcome)), "not exercised"),
        ] {
            let line = format!("open; user; circle 2; {rest}");
            check("circles-are-noticed", "", &[(&line, expect)]);
        }
    }
    // A duplicate counts where the call it repeats is not of the same reply.
    let again = "view a; model; req 2 a:1; val 2; set 2 duplicate of=1 told=w; app 2; \
                 view a; model; req 3 a:1; val 3; set 3 duplicate of=1 told=w; app 3; ";
    let ran = ONE.replace("req 1 a", "req 1 a:1");
    let line = format!("open; user; circle 2; {ran}{again}{LAST}");
    check("circles-are-noticed", "", &[(&line, "c3 2 equal calls")]);
}
