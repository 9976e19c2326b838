//! The table of laws about caps and circles.

use super::law::Law;
use super::limits;

pub(super) const LAWS: &[Law] = &[
    Law {
        name: "caps-respected",
        source: "A",
        title: "a turn asks and starts no more than its caps allow",
        witness: "open; cat a; user; caps 2 1; view a; model; req 1 a; val 1; pol 1 allow; run 1; \
                  fin 1 ok; set 1 succeeded; app 1; view a; model; say done; end",
        mutants: &["lower-the-cap", "lower-the-budget"],
        implies: &[],
        judge: limits::caps_respected,
    },
    Law {
        name: "circles-are-noticed",
        source: "A",
        title: "equal calls with equal results are warned about, then end the turn",
        witness: "open; cat a; user; circle 2 3; view a; model; req 1 a; val 1; pol 1 allow; \
                  run 1; fin 1 ok result=w; set 1 succeeded; app 1; view a; model; \
                  req 2 a:1; val 2; pol 2 allow; run 2; fin 2 ok result=w; \
                  set 2 succeeded; app 2; warned; view a; model; say done; end",
        mutants: &["drop-the-warning", "warn-too-late", "stop-sooner"],
        implies: &[],
        judge: limits::circles_are_noticed,
    },
];
