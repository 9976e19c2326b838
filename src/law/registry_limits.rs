//! The table of laws about caps and circles, budgets, and what is asked beside the decision.

use super::law::Law;
use super::{governed, limits};

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
    Law {
        name: "budgets-kept",
        source: "B",
        title: "no start uses up more than its budgets have, or comes after their deadline",
        witness: "open; user; view a,b; model; req 1 a, 2 b, 3 a; val 1; pol 1 allow; bound 1 r \
                  calls=2 usd=3 until=9000 cost=1; val 2; pol 2 allow; bound 2 r calls=2 usd=3 \
                  cost=2; val 3; pol 3 allow; bound 3 r calls=2 usd=3 cost=2; run 1; fin 1 ok; \
                  cost 1 0.5; set 1 succeeded; run 2; fail 2; fin 2 failed; set 2 failed; \
                  set 3 denied by=budget; app 1,2,3; end",
        mutants: &[
            "budget-of-no-call",
            "budget-of-no-money",
            "cost-unbounded",
            "past-the-deadline",
        ],
        implies: &[],
        judge: governed::budgets_kept,
    },
    Law {
        name: "verified-before-success",
        source: "B",
        title: "a success has passed every verifier that its tool declares",
        witness: "open; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 allow; run 1; verifies \
                  1 guard; hook 1 verify pass; fin 1 ok; set 1 succeeded; val 2; pol 2 allow; run \
                  2; hook 2 verify cancel; fin 2 failed; set 2 failed; app 1,2; end",
        mutants: &["unlooked-success", "refused-success", "another-verifier", "look-too-late"],
        implies: &[],
        judge: governed::verified_before_success,
    },
    Law {
        name: "runs-as-rehearsed",
        source: "B",
        title: "what was shown to whoever confirmed a call is found again before it starts",
        witness: "open; user; view a; model; req 1 a; val 1; pol 1 strong_ask class=destructive; \
                  ask 1 strong; would 1 w; yes 1 strong; run 1 class=destructive; again 1 w; fin \
                  1 ok; set 1 succeeded; app 1; end",
        mutants: &["rehearsed-once", "does-something-else"],
        implies: &[],
        judge: governed::runs_as_rehearsed,
    },
    Law {
        name: "personal-data-masked",
        source: "B",
        title: "what returns of a tool that reads people's data holds none of it",
        witness: "open; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 allow; masks 1; run 1; \
                  fin 1 ok; set 1 succeeded text=[personal:email]; val 2; pol 2 allow; masks 2; \
                  run 2; fin 2 failed; set 2 failed; app 1,2; end",
        mutants: &["mask-what-is-bare", "bare-fault"],
        implies: &[],
        judge: governed::personal_data_masked,
    },
];
