//! Panics as values.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

/// Waits for `work`.
///
/// # Errors
/// What a panic said. Whatever it left half done is dropped with the work.
pub async fn caught<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let mut work = Box::pin(work);
    let ended = poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
        Err(panic) => Poll::Ready(Err(panic)),
    });
    ended.await.map_err(words)
}

/// Does `work`, which does not wait for anything.
///
/// # Errors
/// What a panic said.
pub fn caught_now<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(words)
}

fn words(panic: Box<dyn Any + Send>) -> String {
    let said = panic.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
    said.unwrap_or("a panic without words").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_panic_and_values() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(caught(async { 1 })), Ok(1));
        let panics = async {
            if true {
                panic!("no {}", 7)
            }
        };
        assert_eq!(runtime.block_on(caught(panics)), Err("no 7".to_owned()));
        assert_eq!(caught_now(|| 1), Ok(1));
        let panics = || {
            if true {
                panic!("never")
            }
        };
        assert_eq!(caught_now(panics), Err("never".to_owned()));
    }
}
