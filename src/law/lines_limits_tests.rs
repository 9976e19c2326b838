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
