//! Good and broken lines of the laws about guards, approvals, availability, what an outcome says.
#![allow(clippy::unwrap_used)]

use super::lines_tests::{CALL, DONE, TURN, check, check_law};

/// Every clause of the guards' language, after the core's.
pub(super) const EVERYTHING: &str = "user; guard turn exempt=b strict; view a,b,m,s mcp=m skill=s; \
     model; issue g2 a until=9 class=write to=dev as=session from=11; \
     req 11 a, 12 a:11, 13 b; raw a~<think>b</think>; origin 11 tagged; text 13; \
     hook 11 before rewrite; rename 11 a args=w; hook 12 before cancel; hook 13 before failed; \
     val 11; cleared 11; filled 11 x; val 12; val 13; blank 13; pol 11 ask; intent 11 beyond; \
     ask 11; offer 11 once; yes 11; kind 11 session; unsigned 11; grant 11 id=g2; revoke g2; \
     box 11 mode=vm enforced=none; run 11; mark 11; writes 11 w; emit 11 stream start corr=x; \
     hook 11 after failed observer; activate 11 b; delegate 11 k tools=a scopes=x; back 11 k; \
     fin 11 ok; hook 11 error pass; set 11 succeeded; emit 11 stream end limit=3; \
     dup 12 of=11 scope=turn; set 12 duplicate of=11; repeat 13 of=12; pattern 13 same; \
     set 13 blocked; set 12 denied by=budget; app 11,12,13; end";
