//! The table of laws about guards, approvals, availability, what an outcome says.

use super::law::Law;
use super::{
    answer, availability, block, consent, grant, hook, outcome, repeat, reply, shell, surface,
};

pub(super) const LAWS: &[Law] = &[
    Law {
        name: "rewritten-is-judged",
        source: "A",
        title: "what a hook rewrote is what is validated, asked, allowed and run",
        witness: "open; user; view a,b; model; req 1 a; hook 1 before rewrite; rename 1 b args=w; \
                  val 1; pol 1 ask; ask 1; yes 1; run 1; fin 1 ok; set 1 succeeded; app 1; end",
        mutants: &[
            "approve-before-rewriting",
            "validate-unrewritten-tool",
            "start-unrewritten-tool",
            "rewrite-what-runs",
        ],
        implies: &[],
        judge: hook::rewritten_is_judged,
    },
    Law {
        name: "failing-guard-blocks",
        source: "A",
        title: "a hook that cancels or fails blocks its call, an observer nothing",
        witness: "open; user; view a,b; model; req 1 a, 2 b, 3 a; hook 1 before pass; hook 1 \
                  before failed observer; val 1; pol 1 allow; run 1; fin 1 ok; chk 1; hook 1 \
                  after failed; set 1 succeeded; hook 2 before cancel; set 2 blocked; hook 3 \
                  before failed; set 3 blocked; app 1,2,3; end",
        mutants: &[
            "hook-cancels-what-ran",
            "unblock-hook-cancel",
            "observer-blocks",
            "guard-after-start",
            "follow-what-never-ran",
            "observer-fails-call",
        ],
        implies: &["truth-of-finish"],
        judge: hook::failing_guard_blocks,
    },
    Law {
        name: "duplicates-dropped",
        source: "A",
        title: "the same call does not start twice in the guard's scope",
        witness: "open; user; guard turn exempt=c; view a,b,c; model; req 1 a, 2 b, 3 a:1, 4 a, 5 \
                  c, 6 c:5, 7 a:1; val 1; pol 1 allow; val 2; pol 2 allow class=write; val 3; pol \
                  3 allow; val 4; pol 4 allow; val 5; pol 5 allow; val 6; pol 6 allow; val 7; pol \
                  7 allow; dup 7 of=3; set 7 duplicate of=3; run 1; fin 1 ok; set 1 succeeded; \
                  run 2 class=write; fin 2 ok; set 2 succeeded; run 3; fin 3 ok; set 3 succeeded; \
                  run 4; fin 4 ok; set 4 succeeded; run 5; fin 5 ok; set 5 succeeded; run 6; fin \
                  6 ok; set 6 succeeded; app 1,2,3,4,5,6,7; end",
        mutants: &["repeat-what-ran", "unexempt-repeat", "no-write-between"],
        implies: &[],
        judge: repeat::duplicates_dropped,
    },
    Law {
        name: "duplicate-is-real",
        source: "A",
        title: "a duplicate is the earlier call it names, with no write before a read",
        witness: "open; user; guard reply; view a,b; model; req 1 a, 2 b, 3 a:1; val 1; pol 1 \
                  allow; val 2; pol 2 allow; val 3; pol 3 allow; dup 3 of=1; set 3 duplicate \
                  of=1; run 1; fin 1 ok; set 1 succeeded; run 2; fin 2 ok; set 2 succeeded; app \
                  1,2,3; end",
        mutants: &[
            "duplicate-of-another",
            "two-stories-of-a-duplicate",
            "exempt-what-was-dropped",
            "write-before-duplicate",
        ],
        implies: &[],
        judge: repeat::duplicate_is_real,
    },
    Law {
        name: "prompt-not-repeated",
        source: "A",
        title: "a question is asked once, and not again before it was granted",
        witness: "open; cat a,b; user; view a,b; model; req 1 a, 2 a:1, 3 b; val 1; pol 1 ask; \
                  ask 1; no 1; set 1 denied; val 2; pol 2 ask; dup 2 of=1; set 2 duplicate of=1; \
                  val 3; pol 3 ask; ask 3; yes 3; run 3; fin 3 ok; set 3 succeeded; app 1,2,3; \
                  view a,b; model; req 4 b:3, 5 a:1; val 4; pol 4 ask; ask 4; yes 4; run 4; fin 4 \
                  ok; set 4 succeeded; val 5; pol 5 ask; repeat 5 of=1; set 5 blocked; app 4,5; \
                  end loop_stopped",
        mutants: &[
            "ask-twice-in-a-reply",
            "ask-after-refusal",
            "repeat-of-another",
            "drop-repeat-stop",
        ],
        implies: &["outcome-tells-truth"],
        judge: repeat::prompt_not_repeated,
    },
    Law {
        name: "noninteractive-refuses",
        source: "A",
        title: "where nobody approves nothing is approved",
        witness: "open approver=none; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 ask; ask \
                  1; gone 1; set 1 denied; val 2; pol 2 allow; run 2; fin 2 ok; set 2 succeeded; \
                  app 1,2; end",
        mutants: &["yes-from-nobody", "no-from-nobody"],
        implies: &[],
        judge: answer::noninteractive_refuses,
    },
    Law {
        name: "marker-not-forged",
        source: "A",
        title: "only an approved call starts marked as approved",
        witness: "open; user; view a,b; model; req 1 a, 2 b; val 1; cleared 1; pol 1 allow; run \
                  1; fin 1 ok; set 1 succeeded; val 2; cleared 2; pol 2 ask; ask 2; yes 2; run 2; \
                  mark 2; fin 2 ok; set 2 succeeded; app 1,2; end",
        mutants: &["forge-marker", "unapprove-marked"],
        implies: &[],
        judge: grant::marker_not_forged,
    },
    Law {
        name: "grant-within-scope",
        source: "A",
        title: "a grant is used for what it was given for, while it lasts",
        witness: "open; cat a,b; issue g1 b class=external until=90000; user; view a,b; model; \
                  req 1 a, 2 b; val 1; pol 1 ask; ask 1; offer 1 once,session; yes 1; kind 1 \
                  session; issue g2 a from=1; run 1; fin 1 ok; set 1 succeeded; val 2; pol 2 ask \
                  class=external; grant 2; run 2 class=external; fin 2 ok; set 2 succeeded; app \
                  1,2; view a; model; req 3 a; val 3; pol 3 ask; grant 3 id=g2; run 3; fin 3 ok; \
                  set 3 succeeded; app 3; end",
        mutants: &[
            "forge-grant",
            "grant-other-tool",
            "grant-other-version",
            "grant-other-principal",
            "grant-other-tenant",
            "expired-grant",
            "grant-too-weak",
            "use-after-revoke",
            "grant-not-offered",
            "grant-from-once",
        ],
        implies: &[],
        judge: grant::grant_within_scope,
    },
    Law {
        name: "revoked-never-runs",
        source: "A",
        title: "after a grant is revoked nothing starts on it",
        witness: "open; issue g1 a; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 ask; grant \
                  1; run 1; fail 1; run 1; fin 1 ok; set 1 succeeded; revoke g1; val 2; pol 2 \
                  ask; set 2 denied by=grant_revoked; app 1,2; end",
        mutants: &["revoke-before-start", "revoke-before-retry", "advance-revocation"],
        implies: &[],
        judge: grant::revoked_never_runs,
    },
    Law {
        name: "blocked-never-runs",
        source: "B",
        title: "after a tool is blocked it is neither shown, handed over nor started",
        witness: "open; user; cat a,b; view a,b; model; req 1 a, 2 a, 3 b; val 1; pol 1 allow; \
                  val 2; pol 2 allow; val 3; pol 3 allow; run 1; fail 1; run 1; fin 1 ok; set 1 \
                  succeeded; block a by=ann; set 2 denied by=tool_blocked; run 3; delegate 3 k \
                  tools=b; back 3 k; fin 3 ok; set 3 succeeded; app 1,2,3; view b -a; model; end",
        mutants: &[
            "block-before-start",
            "block-before-retry",
            "block-before-view",
            "block-before-delegate",
            "advance-block",
        ],
        implies: &[],
        judge: block::blocked_never_runs,
    },
    Law {
        name: "consent-before-server",
        source: "B",
        title: "an MCP server is used only after somebody agreed to it",
        witness: "open; consent s; user; view a mcp=a; model; req 1 a; val 1; pol 1 allow; box 1 \
                  mode=remote_api server=s; run 1; fin 1 ok; set 1 succeeded; app 1; end",
        mutants: &["drop-consent", "consent-to-another", "consent-of-another"],
        implies: &[],
        judge: consent::consent_before_server,
    },
    Law {
        name: "outcome-tells-truth",
        source: "A",
        title: "an outcome is what the facts before it decided",
        witness: "open; user; view a,b; model; req 1 a, 2 b, 3 a, 4 b, 5 a, 6 b, 7 b:6; val 1 \
                  failed; set 1 rejected; val 2; pol 2 deny; set 2 denied; val 3; pol 3 ask; ask \
                  3; no 3; set 3 denied; val 4; pol 4 ask; ask 4; edit 4; set 4 replaced; hook 5 \
                  before cancel; set 5 blocked; val 6; pol 6 allow; val 7; pol 7 allow; dup 7 \
                  of=6; set 7 duplicate of=6; run 6; fin 6 ok; set 6 succeeded; app \
                  1,2,3,4,5,6,7; end",
        mutants: &[
            "blame-policy-for-arguments",
            "reject-what-was-denied",
            "blame-policy-for-a-person",
            "replace-what-was-denied",
            "fail-what-never-ran",
        ],
        implies: &[],
        judge: outcome::outcome_tells_truth,
    },
    Law {
        name: "timeout-is-no-refusal",
        source: "A",
        title: "a timeout is no person's no, and every decision has a name",
        witness: "open; user; view a,b; model; req 1 a, 2 b, 3 a; val 1; pol 1 ask; ask 1; late \
                  1; set 1 denied; val 2; pol 2 ask; ask 2; gone 2; set 2 denied; val 3; pol 3 \
                  ask; ask 3; no 3; set 3 denied; app 1,2,3; end",
        mutants: &["timeout-as-no", "unreachable-as-no", "nameless-decision"],
        implies: &[],
        judge: answer::timeout_is_no_refusal,
    },
    Law {
        name: "answers-addressed",
        source: "A",
        title: "an answer is for one open request of its own call",
        witness: "open; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 ask; ask 1; val 2; pol \
                  2 ask; ask 2; no 2; set 2 denied; yes 1; run 1; fin 1 ok; set 1 succeeded; app \
                  1,2; end",
        mutants: &["answer-twice", "answer-nobody-asked", "cross-answers"],
        implies: &[],
        judge: answer::answers_addressed,
    },
    Law {
        name: "sandbox-before-start",
        source: "B10",
        title: "a sandbox is prepared before each start, and enforced",
        witness: "open; user; view a,b; model; req 1 a, 2 b, 3 a; val 1; pol 1 allow; box 1 \
                  mode=read_only enforced=workspace; run 1; fin 1 ok; set 1 succeeded; val 2; pol \
                  2 allow; box 2 mode=none enforced=none; run 2; fin 2 ok; set 2 succeeded; val \
                  3; pol 3 allow; box 3 mode=read_only enforced=full by=all; run 3; fin 3 ok; set \
                  3 succeeded; app 1,2,3; end",
        mutants: &[
            "drop-sandbox",
            "late-sandbox",
            "enforce-nothing",
            "name-no-mechanism",
            "name-one-mechanism-less",
            "limit-no-processes",
        ],
        implies: &[],
        judge: availability::sandbox_before_start,
    },
    Law {
        name: "mcp-normalized",
        source: "B11",
        title: "a tool found over MCP is normalized before it is shown or enabled",
        witness: "open; found c source=mcp; norm c source=mcp; cat c; enable c; cat b; \
                  norm a source=mcp; user; view a,b mcp=a; model; req 1 a; val 1; \
                  pol 1 allow; run 1; fin 1 ok; set 1 succeeded; app 1; end",
        mutants: &[
            "drop-normalization",
            "late-normalization",
            "show-changed-definition",
            "enable-changed-definition",
            "discover-after-normalizing",
        ],
        implies: &[],
        judge: availability::mcp_normalized,
    },
    Law {
        name: "skill-scripts-registered",
        source: "B12",
        title: "a skill's script runs only as a registered tool",
        witness: "open; found c source=skill; norm c source=skill; cat c; enable c; cat b; \
                  norm a source=skill; user; view a,b skill=a; model; req 1 a; val \
                  1; pol 1 allow; run 1; fin 1 ok; set 1 succeeded; app 1; end",
        mutants: &[
            "drop-skill-registration",
            "late-skill-registration",
            "run-unshown-skill",
            "enable-unverified-skill",
        ],
        implies: &[],
        judge: availability::skill_scripts_registered,
    },
    Law {
        name: "destructive-stronger",
        source: "B14",
        title: "a destructive call needs a strong yes, a rule or a grant",
        witness: "open; user; view a,b; model; req 1 a, 2 b, 3 a; val 1; pol 1 strong_ask \
                  class=destructive; ask 1 strong; yes 1 strong; run 1 class=destructive; fin 1 \
                  ok; set 1 succeeded; val 2; pol 2 allow class=destructive rule=r; run 2 \
                  class=destructive; fin 2 ok; set 2 succeeded; val 3; pol 3 ask class=external; \
                  ask 3; yes 3; run 3 class=external; fin 3 ok; set 3 succeeded; app 1,2,3; end",
        mutants: &["ask-plainly", "raise-asked-effect"],
        implies: &[],
        judge: grant::destructive_stronger,
    },
    Law {
        name: "golden-before-enable",
        source: "B16",
        title: "outside of evaluations a tool is enabled on golden evidence",
        witness: "open; enable a; enable b scope=live evidence=w; user; view a,b; model; req 1 a; \
                  val 1; pol 1 allow; run 1; fin 1 ok; set 1 succeeded; app 1; end",
        mutants: &["enable-without-evidence", "enable-beyond-evaluation"],
        implies: &[],
        judge: availability::golden_before_enable,
    },
    Law {
        name: "child-within-parent",
        source: "A",
        title: "a delegate has no more than its parent, and ends with its call",
        witness: "open scopes=mail,files; user; view a,b; model; req 1 a; val 1; pol 1 allow; run \
                  1; delegate 1 k tools=b scopes=mail; back 1 k; fin 1 ok; set 1 succeeded; app \
                  1; end",
        mutants: &[
            "widen-child-tools",
            "widen-child-scopes",
            "drop-delegate-end",
            "end-another-delegate",
        ],
        implies: &[],
        judge: availability::child_within_parent,
    },
    Law {
        name: "activation-grants-nothing",
        source: "A",
        title: "what is activated is registered and waits for the next view",
        witness: "open; cat a,b,c,d; user; view a,d; model; req 1 a, 2 d; val 1; pol 1 allow; run \
                  1; activate 1 b; activate 1 c; fin 1 ok; set 1 succeeded; val 2; pol 2 allow; \
                  run 2; fin 2 ok; set 2 succeeded; app 1,2; view a,b,d; model; req 3 b; val 3; \
                  pol 3 allow; run 3; fin 3 ok; set 3 succeeded; app 3; end",
        mutants: &[
            "activate-unregistered",
            "activate-excluded",
            "call-in-the-activating-reply",
            "show-unregistered",
        ],
        implies: &[],
        judge: availability::activation_grants_nothing,
    },
    Law {
        name: "intent-respected",
        source: "B",
        title: "what goes beyond the intent is asked, denied or ruled",
        witness: "open; user; view a,b; model; req 1 a, 2 b, 3 a; val 1; pol 1 allow; intent 1 \
                  within; run 1; fin 1 ok; set 1 succeeded; val 2; pol 2 ask; intent 2 beyond; \
                  ask 2; yes 2; run 2; fin 2 ok; set 2 succeeded; val 3; pol 3 allow rule=r; \
                  intent 3 beyond; run 3; fin 3 ok; set 3 succeeded; app 1,2,3; end",
        mutants: &["beyond-and-allowed", "allow-beyond", "erase-intent-rule"],
        implies: &[],
        judge: availability::intent_respected,
    },
    Law {
        name: "surfaces-bounded",
        source: "A",
        title: "what leaves by a surface stays within its limit",
        witness: "open; user; view a; model; req 1 a; val 1; pol 1 allow; run 1; emit 1 progress \
                  chars=10 limit=40; fin 1 ok; set 1 succeeded; emit 1 progress chars=40 \
                  limit=40; app 1; end",
        mutants: &["overrun-surface", "tighten-surface"],
        implies: &[],
        judge: surface::surfaces_bounded,
    },
    Law {
        name: "surfaces-correlated",
        source: "A",
        title: "a card is closed as it was opened, and only what runs opens one",
        witness: "open; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 allow; run 1; emit 1 \
                  stream start corr=x; emit 1 observer start corr=x; fin 1 ok; set 1 succeeded; \
                  emit 1 observer end corr=x; emit 1 stream end corr=x; val 2; pol 2 deny; set 2 \
                  denied; app 1,2; end",
        mutants: &[
            "end-without-start",
            "end-with-other-correlation",
            "end-twice",
            "open-card-of-refused",
        ],
        implies: &[],
        judge: surface::surfaces_correlated,
    },
    Law {
        name: "calls-where-allowed",
        source: "A",
        title: "calls are taken only from where the protocol allows them",
        witness: "open; user; view a,b; model; req 1 a, 2 b; raw \
                  <think>not~b</think>|<call>a</call>|```call|b|```|>~a~or~b; origin 1 tagged; \
                  origin 2 fenced; val 1; pol 1 allow; run 1; fin 1 ok; set 1 succeeded; val 2; \
                  pol 2 deny; set 2 denied; app 1,2; end",
        mutants: &[
            "call-from-reasoning",
            "call-from-quote",
            "call-from-fence",
            "lose-a-call",
            "call-under-strict",
        ],
        implies: &[],
        judge: reply::calls_where_allowed,
    },
    Law {
        name: "arguments-as-sent",
        source: "A",
        title: "the arguments that pass are the ones that were sent",
        witness: "open; user; view a,b; model; req 1 a, 2 b, 3 a; val 1; pol 1 allow; run 1; fin \
                  1 ok; set 1 succeeded; rename 2 a args=w; val 2; pol 2 deny; set 2 denied; text \
                  3; val 3; blank 3; pol 3 deny; set 3 denied; app 1,2,3; end",
        mutants: &[
            "send-other-arguments",
            "rewrite-unseen",
            "accept-no-json",
            "empty-the-arguments",
        ],
        implies: &[],
        judge: reply::arguments_as_sent,
    },
    Law {
        name: "shell-by-its-strictest-part",
        source: "B",
        title: "a command line is judged in all its parts, by the strictest, and by no grant",
        witness: "open; user; view a; model; req 1 a, 2 a; line 1 ls~&&~wc; line 2 ls; val 1; pol \
                  1 ask; part 1 allow; part 1 ask; ask 1; yes 1; run 1; fin 1 ok; set 1 \
                  succeeded; val 2; pol 2 allow; part 2 allow; run 2; fin 2 ok; set 2 succeeded; \
                  app 1,2; end",
        mutants: &["forbid-a-part", "forget-a-part", "forget-the-parts", "grant-for-a-line"],
        implies: &[],
        judge: shell::shell_by_its_strictest_part,
    },
];
