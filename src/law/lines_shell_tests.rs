//! Good and broken lines of the law about command lines.

use super::lines_tests::{TURN, check};

#[test]
fn shell_by_its_strictest_part() {
    check(
        "shell-by-its-strictest-part",
        TURN,
        &[
            ("req 1 a; val 1; pol 1 allow; run 1", "not exercised"),
            ("req 1 a; line 1 ls; val 1; pol 1 allow; part 1 allow; run 1", "holds 1"),
            ("req 1 a; line 1 ls; val 1; pol 1 deny; part 1 allow; set 1 denied", "holds 1"),
            (
                "req 1 a; line 1 ls; val 1; pol 1 allow; part 1 ask",
                "c1 a command line was judged milder",
            ),
            ("req 1 a; line 1 ls; val 1; pol 1 ask; part 1 strong_ask", "judged milder"),
            ("req 1 a; line 1 ls; val 1; pol 1 deny; part 1 whatever", "judged milder"),
            ("req 1 a; line 1 ls; val 1; pol 1 deny; part 1", "judged without its parts"),
            (
                "req 1 a; line 1 ls~&&~rm~x; val 1; pol 1 allow; part 1 allow",
                "c1 a command line has commands that were not judged",
            ),
            ("req 1 a; line 1 ls~$(rm~x); val 1; pol 1 allow; part 1 allow", "not judged"),
            ("req 1 a; line 1 sh~-c~'ls'; val 1; pol 1 allow; part 1 allow", "holds 1"),
            (
                "req 1 a; line 1 ls~&&~rm; val 1; pol 1 ask; part 1 allow; part 1 ask; ask 1; yes 1; \
                 run 1",
                "holds 1",
            ),
            (
                "req 1 a; line 1 ls; val 1; pol 1 ask; part 1 ask; grant 1; run 1",
                "c1 a grant answered for a command line",
            ),
            // What is recorded scrubbed, or as a digest alone, is not read again.
            ("req 1 a; line 1 ls~&&~[redacted]; val 1; pol 1 allow; part 1 allow", "holds 1"),
        ],
    );
}
