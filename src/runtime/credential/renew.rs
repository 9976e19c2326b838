//! Values that end and are obtained anew: by whoever knows how, once for all who wait, and without
//! anybody who asks seeing one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Mutex;

use super::{NotBound, Source};
use crate::base::secret::Secret;
use crate::base::world::Millis;
use crate::runtime::BoxFuture;

/// How long obtaining a value may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// Knows how a value is obtained anew.
pub trait Renew: Send + Sync + std::fmt::Debug {
    /// Obtains one.
    ///
    /// # Errors
    /// Why there is none; nothing of a value.
    fn renew(&self) -> BoxFuture<'_, Result<Secret, String>>;
}

impl Renew for Source {
    fn renew(&self) -> BoxFuture<'_, Result<Secret, String>> {
        Box::pin(async { self.read().await.map_err(|error| error.to_string()) })
    }
}

/// A value, and what came after it.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) value: Secret,
    /// When it ends.
    ends: Option<Millis>,
    /// Whether a service did not take it.
    refused: AtomicBool,
    later: OnceLock<Arc<Held>>,
}

impl Held {
    pub(super) fn new(value: Secret, ends: Option<Millis>) -> Arc<Self> {
        Arc::new(Self { value, ends, refused: AtomicBool::new(false), later: OnceLock::new() })
    }

    /// The value that holds now.
    pub(super) fn latest(self: &Arc<Self>) -> &Arc<Self> {
        let mut held = self;
        while let Some(later) = held.later.get() {
            held = later;
        }
        held
    }

    fn is_good(&self, now: Millis) -> bool {
        !self.refused.load(Ordering::Relaxed) && self.ends.is_none_or(|end| now <= end)
    }
}

/// How one credential is obtained anew.
#[derive(Debug, Clone)]
pub(super) struct Renewal {
    from: Arc<dyn Renew>,
    /// How long a value is good for, in milliseconds; until it is refused when absent.
    lifetime: Option<Millis>,
    /// Held by whoever obtains it; the others wait, and take what was obtained.
    turn: Arc<Mutex<()>>,
}

impl Renewal {
    pub(super) fn new(from: Arc<dyn Renew>, lifetime: Option<Millis>) -> Self {
        Self { from, lifetime, turn: Arc::default() }
    }

    pub(super) fn ends(&self, since: Millis) -> Option<Millis> {
        self.lifetime.map(|lifetime| since.saturating_add(lifetime))
    }

    /// Sees to it that the value is good now; one that was obtained for that. `learn` has it before
    /// anybody else.
    pub(super) async fn fresh(
        &self,
        (name, held): (&str, &Arc<Held>),
        now: Millis,
        learn: &(dyn Fn(Secret) + Sync),
    ) -> Result<Option<Secret>, NotBound> {
        if held.latest().is_good(now) {
            return Ok(None);
        }
        let _turn = self.turn.lock().await;
        let latest = held.latest();
        if latest.is_good(now) {
            return Ok(None);
        }
        let obtained = tokio::time::timeout(PATIENCE, self.from.renew()).await;
        let Ok(Ok(value)) = obtained else { return Err(NotBound::Expired(name.to_owned())) };
        learn(value.clone());
        let ends = self.ends(now);
        // Nobody else obtains one: the turn is ours.
        let _first = latest.later.set(Held::new(value.clone(), ends));
        Ok(Some(value))
    }
}

/// The values that a call was started with.
#[derive(Debug, Default)]
pub struct InUse(pub(super) Vec<Arc<Held>>);

impl InUse {
    /// A service did not take what it was given: it is obtained anew before it is used again.
    pub fn refused(&self) {
        self.0.iter().for_each(|held| held.refused.store(true, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::AtomicU32;

    use super::*;
    use crate::runtime::credential::Broker;
    use crate::tool::descriptor::Descriptor;
    use crate::tool::manifest;

    /// Counts how often it was asked, and says so in its values; from some point on it has none.
    #[derive(Debug)]
    struct Mint(AtomicU32, u32);

    impl Renew for Mint {
        fn renew(&self) -> BoxFuture<'_, Result<Secret, String>> {
            Box::pin(async {
                tokio::task::yield_now().await;
                let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
                match count <= self.1 {
                    true => Ok(Secret::new(format!("token-number-{count}"))),
                    false => Err("the mint is closed".to_owned()),
                }
            })
        }
    }

    fn tool() -> Descriptor {
        let text = "schema: proofmark/tool@1\ntoolId: a.b\ndescription: {summary: Does a.}\n\
                    intent: {actionTypes: [read]}\nschemas: {inputSchema: {type: object}}\n\
                    effects: {reads: [], writes: []}\n\
                    credentials: {strategy: user_oauth, requiredSecrets: [TOKEN]}\n";
        manifest::parse("t.yaml", text).unwrap()
    }

    fn broker(lifetime: Option<Millis>, most: u32) -> (Broker, Arc<Mint>) {
        let mint = Arc::new(Mint(AtomicU32::new(0), most));
        let first = Secret::new("token-number-0");
        let values = BTreeMap::from([("TOKEN".to_owned(), first)]);
        let from = Arc::clone(&mint) as Arc<dyn Renew>;
        (Broker::new(values).renewed("TOKEN", from, (lifetime, 0)), mint)
    }

    async fn held(broker: &Broker, now: Millis) -> String {
        let found = broker.fresh(&tool(), now).await;
        found.map_or_else(
            |why| why.to_string(),
            |_| broker.secret("TOKEN").unwrap().expose().to_owned(),
        )
    }

    #[tokio::test]
    async fn a_value_that_ended_is_obtained_once_for_all_who_wait() {
        let (broker, mint) = broker(Some(100), 9);
        let copy = broker.clone();
        assert_eq!(held(&broker, 100).await, "token-number-0");
        let (one, two) = tokio::join!(held(&broker, 101), held(&copy, 101));
        assert_eq!((one.as_str(), two.as_str()), ("token-number-1", "token-number-1"));
        assert_eq!(mint.0.load(Ordering::Relaxed), 1);
        assert_eq!(held(&copy, 201).await, "token-number-1");
        assert_eq!(held(&copy, 202).await, "token-number-2");
        let said = broker.secrets().scrub("token-number-0 token-number-1 token-number-2");
        assert_eq!(said, "[redacted] [redacted] [redacted]");
    }

    #[tokio::test]
    async fn one_refusal_is_one_renewal_whoever_is_told_of_it_later() {
        let (broker, mint) = broker(None, 9);
        let (first, second) =
            (broker.fresh(&tool(), 0).await.unwrap(), broker.fresh(&tool(), 0).await.unwrap());
        first.in_use.refused();
        assert_eq!(held(&broker, 1).await, "token-number-1");
        // It was started with the value before: what came after it is not at fault.
        second.in_use.refused();
        assert_eq!(held(&broker, 2).await, "token-number-1");
        assert_eq!(mint.0.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn where_none_is_obtained_somebody_must_authorize_again() {
        let (broker, _) = broker(Some(100), 1);
        assert_eq!(held(&broker, 101).await, "token-number-1");
        let why = "credential TOKEN has expired; it must be authorized again";
        assert_eq!(held(&broker, 202).await, why);
        assert_eq!(held(&broker, 203).await, why);
    }
}
