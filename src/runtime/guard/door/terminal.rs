//! The command line: a question is printed, a line is an answer. `yes`, `session` and `always`
//! grant exactly what is printed beside them, `no` and its reason refuse, and the end of the input
//! is a no. What the stronger question asks for is the tool's id, typed out.

use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncBufRead, AsyncBufReadExt, Lines};
use tokio::sync::Mutex;

use crate::base::printable::printable;
use crate::runtime::BoxFuture;
use crate::runtime::guard::approval::ApprovalRequest;
use crate::runtime::guard::approver::{Answer, Approver, Verdict};
use crate::runtime::guard::grant::AnswerScope;

/// Lines that a person types, shared by everything that reads them.
pub type Typed = Arc<Mutex<Lines<Pin<Box<dyn AsyncBufRead + Send>>>>>;

/// Lines of an input.
pub fn typed(input: impl AsyncBufRead + Send + 'static) -> Typed {
    let input: Pin<Box<dyn AsyncBufRead + Send>> = Box::pin(input);
    Arc::new(Mutex::new(input.lines()))
}

/// A person at a terminal.
pub struct Terminal {
    typed: Typed,
    shown: Mutex<Shown>,
    decider: String,
}

struct Shown {
    out: Box<dyn Write + Send>,
    questions: u32,
    /// The last question went away while somebody may have been typing an answer to it.
    stale: Arc<AtomicBool>,
}

impl Terminal {
    /// Asks `decider` by writing to `out` and reading what they type.
    pub fn new(typed: Typed, out: Box<dyn Write + Send>, decider: impl Into<String>) -> Self {
        let shown = Shown { out, questions: 0, stale: Arc::default() };
        Self { typed, shown: Mutex::new(shown), decider: decider.into() }
    }

    async fn ask(&self, request: &ApprovalRequest) -> Verdict {
        // One question after the other: a person reads one at a time.
        let mut shown = self.shown.lock().await;
        shown.questions += 1;
        let number = shown.questions;
        let addressed = shown.stale.swap(true, Ordering::Relaxed);
        let stale = Arc::clone(&shown.stale);
        let mut said = words(request, number);
        if addressed {
            let note = format!("the question before went away: begin your answer with {number}\n");
            said.push_str(&note);
        }
        let verdict = loop {
            said.push_str("> ");
            if shown.out.write_all(said.as_bytes()).and_then(|()| shown.out.flush()).is_err() {
                break Verdict::Unreachable;
            }
            let line = match self.typed.lock().await.next_line().await {
                Ok(Some(line)) => line,
                Ok(None) => break Verdict::No { reason: "the input ended".to_owned() },
                Err(_) => break Verdict::Unreachable,
            };
            match read(&line, request, addressed.then_some(number)) {
                Ok(verdict) => break verdict,
                Err(help) => said = format!("{help}\n"),
            }
        };
        stale.store(false, Ordering::Relaxed);
        verdict
    }
}

impl Approver for Terminal {
    fn channel(&self) -> &'static str {
        "terminal"
    }

    fn answer<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let verdict = self.ask(request).await;
            Answer { approval_id: request.id.clone(), verdict, decider: self.decider.clone() }
        })
    }
}

/// The question as it is printed. Nothing of it can move the cursor or turn the writing.
fn words(request: &ApprovalRequest, number: u32) -> String {
    let principal = &request.principal;
    let scopes: Vec<&str> = principal.scopes.iter().map(String::as_str).collect();
    let tenant = principal.tenant.as_ref().map_or_else(String::new, |name| format!(" of {name}"));
    let mut lines = vec![
        format!("question {number}: {}", request.summary),
        format!("  arguments  {}", request.args),
        format!("  because    {}", request.reasons.join("; ")),
        format!("  who        {}{tenant}, scopes: {}", principal.id, scopes.join(" ")),
    ];
    if let Some(would) = &request.rehearsal {
        lines.push("  it would do this:".to_owned());
        lines.extend(would.lines().map(|line| format!("    {line}")));
    }
    if request.strong {
        lines.push(format!("  type {} to confirm, or no", request.tool));
    } else {
        lines.extend(request.options().iter().filter_map(|option| {
            let word = if option.starts_with("once") { "yes, " } else { "" };
            (!option.starts_with("replace")).then(|| format!("  {word}{option}"))
        }));
    }
    lines.iter().map(|line| printable(line) + "\n").collect()
}

/// What a line says; or what could have been said.
fn read(line: &str, request: &ApprovalRequest, number: Option<u32>) -> Result<Verdict, String> {
    let line = line.trim();
    let said = match number {
        None => line,
        Some(number) => match line.split_once(char::is_whitespace) {
            Some((first, rest)) if first == number.to_string() => rest.trim(),
            _ => return Err(format!("begin your answer with {number}")),
        },
    };
    let (word, rest) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
    let yes = |scope| Verdict::Yes { strong: request.strong, scope };
    let offered = |scope| match request.offered.contains(&scope) && !request.strong {
        true => Ok(yes(scope)),
        false => Err(format!("`{}` is not offered here", scope.name())),
    };
    match word.to_lowercase().as_str() {
        "n" | "no" => {
            let reason = if rest.is_empty() { "no" } else { rest.trim() };
            Ok(Verdict::No { reason: reason.to_owned() })
        }
        _ if request.strong && said == request.tool => Ok(yes(AnswerScope::Once)),
        _ if request.strong => Err(format!("type {} to confirm, or no", request.tool)),
        "y" | "yes" if rest.is_empty() => Ok(yes(AnswerScope::Once)),
        "s" | "session" if rest.is_empty() => offered(AnswerScope::Session),
        "a" | "always" if rest.is_empty() => offered(AnswerScope::Always),
        _ => {
            let scopes = request.offered.iter().filter(|scope| **scope != AnswerScope::Once);
            let names: Vec<&str> = scopes.map(|scope| scope.name()).collect();
            Err(format!("answer {} or no", [&["yes"], names.as_slice()].concat().join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex as Held;

    use super::super::sample::request;
    use super::*;

    #[derive(Clone, Default)]
    struct Screen(Arc<Held<Vec<u8>>>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Screen {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
    }

    /// What is made of the lines of one answer, and how often the question was asked again.
    fn check(strong: bool, input: &'static str, expected: &str, again: usize) {
        let screen = Screen::default();
        let door = Terminal::new(typed(input.as_bytes()), Box::new(screen.clone()), "ann");
        let answer = run(door.answer(&request("apr_1", strong)));
        let found = match answer.verdict {
            Verdict::Yes { strong, scope } => {
                format!("yes {}{}", scope.name(), if strong { " strong" } else { "" })
            }
            Verdict::No { reason } => format!("no: {reason}"),
            other => format!("{other:?}"),
        };
        assert_eq!(found, expected, "{input:?}");
        assert_eq!((answer.approval_id.as_str(), answer.decider.as_str()), ("apr_1", "ann"));
        assert_eq!(screen.text().matches("> ").count(), again + 1, "{input:?}");
    }

    #[test]
    fn a_line_is_an_answer_and_the_end_is_a_no() {
        check(false, "y\n", "yes once", 0);
        check(false, "  YES  \n", "yes once", 0);
        check(false, "session\n", "yes session", 0);
        check(false, "a\n", "yes always", 0);
        check(false, "no\n", "no: no", 0);
        check(false, "n too many people\n", "no: too many people", 0);
        check(false, "", "no: the input ended", 0);
        check(false, "yes", "yes once", 0);
        check(false, "\nyep\nyes please\ny\n", "yes once", 3);
        check(false, "mail.send\n", "no: the input ended", 1);
    }

    #[test]
    fn the_stronger_question_wants_the_tools_id() {
        check(true, "mail.purge\n", "yes once strong", 0);
        check(true, "y\nyes\nalways\nmail.send\n", "no: the input ended", 4);
        check(true, "y\nmail.purge\n", "yes once strong", 1);
        check(true, "no\n", "no: no", 0);
    }

    #[test]
    fn nothing_that_is_shown_moves_the_cursor() {
        let said = words(&request("apr_1", false), 1);
        let calm = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
        assert!(said.chars().all(calm), "{said:?}");
        insta::assert_snapshot!(said, @r#"
        question 1: mail.send (external): Does it.
          arguments  {"to":"ann@example.org\u{202e}\u{9b}2J"}
          because    L4 is visible outside
          who        dev, scopes: s1
          it would do this:
            --- a/x\u{202e}
            +++ b/x
          yes, once: this call with these arguments
          session: calls of mail.send at this version by dev in this session
          always: calls of mail.send at this version by dev for 30 days
          no
        "#);
        insta::assert_snapshot!(words(&request("apr_1", true), 2), @r#"
        question 2: mail.purge (external): Does it.
          arguments  {"to":"ann@example.org\u{202e}\u{9b}2J"}
          because    L4 is visible outside
          who        dev, scopes: s1
          it would do this:
            --- a/x\u{202e}
            +++ b/x
          type mail.purge to confirm, or no
        "#);
    }

    #[test]
    fn an_answer_to_a_question_that_went_away_answers_no_other() {
        run(async {
            let (mut keys, input) = tokio::io::duplex(64);
            let input = tokio::io::BufReader::new(input);
            let screen = Screen::default();
            let door = Terminal::new(typed(input), Box::new(screen.clone()), "ann");
            let (first, second) = (request("apr_1", false), request("apr_2", false));
            // Withdrawn while the person types.
            tokio::select! {
                biased;
                _ = door.answer(&first) => panic!("nothing was typed"),
                () = tokio::task::yield_now() => {}
            }
            let type_on = async {
                tokio::io::AsyncWriteExt::write_all(&mut keys, b"yes\n2 no\n").await.unwrap();
            };
            let (answer, ()) = tokio::join!(door.answer(&second), type_on);
            assert_eq!(answer.verdict, Verdict::No { reason: "no".to_owned() });
            assert!(screen.text().contains("begin your answer with 2"), "{}", screen.text());
        });
    }

    #[test]
    fn two_questions_at_once_are_asked_one_after_the_other() {
        let screen = Screen::default();
        let door = Terminal::new(typed(&b"no\nyes\n"[..]), Box::new(screen.clone()), "ann");
        let (first, second) = (request("apr_1", false), request("apr_2", false));
        let (one, two) = run(async { tokio::join!(door.answer(&first), door.answer(&second)) });
        assert_eq!((one.approval_id.as_str(), two.approval_id.as_str()), ("apr_1", "apr_2"));
        assert_eq!(one.verdict, Verdict::No { reason: "no".to_owned() });
        assert!(matches!(two.verdict, Verdict::Yes { strong: false, .. }));
    }
}
