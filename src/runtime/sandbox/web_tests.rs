use std::collections::VecDeque;
use std::net::TcpListener;

use super::*;

/// A resolver whose look-ups give one of these after the other.
fn judged_by(found: &[&str]) -> (Client, Arc<Mutex<VecDeque<SocketAddr>>>) {
    let found = found.iter().map(|one| one.parse().unwrap()).collect();
    let left: Arc<Mutex<VecDeque<SocketAddr>>> = Arc::new(Mutex::new(found));
    let own = Arc::clone(&left);
    let lookup: Lookup = Arc::new(move |_| {
        let next = own.lock().unwrap().pop_front();
        Box::pin(std::future::ready(
            next.map(|one| vec![one]).ok_or(io::ErrorKind::NotFound.into()),
        ))
    });
    let fixtures = BTreeMap::from([("fixed.test".to_owned(), "127.0.0.1:1".parse().unwrap())]);
    (build(Judged { fixtures, lookup }).unwrap(), left)
}

/// What a resolver gives for a name.
fn resolved(name: &str, found: &[&str]) -> Result<Vec<String>, String> {
    let (_, left) = judged_by(found);
    let own = Arc::clone(&left);
    let lookup: Lookup = Arc::new(move |_| {
        let all = own.lock().unwrap().drain(..).collect();
        Box::pin(std::future::ready(Ok(all)))
    });
    let fixtures = BTreeMap::from([("fixed.test".to_owned(), "127.0.0.1:1".parse().unwrap())]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let name = name.parse().unwrap();
    let found = runtime.block_on(Judged { fixtures, lookup }.resolve(name));
    found.map(|all| all.map(|one| one.to_string()).collect()).map_err(|error| error.to_string())
}

#[test]
fn only_judged_addresses_are_given_to_whoever_connects() {
    let check = |name: &str, found: &[&str], expected: Result<&[&str], &str>| {
        let expected = expected.map(|all| all.iter().map(|&one| one.to_owned()).collect());
        assert_eq!(resolved(name, found), expected.map_err(str::to_owned), "{name} {found:?}");
    };
    let private = Err("the name leads to a private address");
    check("a.example", &["1.1.1.1:0", "[2606:4700::1]:0"], Ok(&["1.1.1.1:0", "[2606:4700::1]:0"]));
    check("a.example", &["1.1.1.1:0", "10.0.0.1:0"], private);
    check("a.example", &["[::ffff:127.0.0.1]:0"], private);
    check("a.example", &[], private);
    check("fixed.test", &["1.1.1.1:0"], Ok(&["127.0.0.1:1"]));
    check("Fixed.Test.", &["1.1.1.1:0"], Ok(&["127.0.0.1:1"]));
}

/// There is no time between the judgement of a name and its connection in which it could become
/// another: one look-up serves both, and each connection has its own.
#[test]
fn a_name_that_changes_is_judged_each_time_it_is_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let private = listener.local_addr().unwrap().to_string();
    let (client, left) = judged_by(&["10.0.0.1:9", &private]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut asked = 0;
    runtime.block_on(async {
        let get = |client: &Client| client.get("http://moves.example/").send();
        for _ in 0..2 {
            let error = get(&client).await.unwrap_err();
            let mut cause: Option<&dyn std::error::Error> = Some(&error);
            while let Some(one) = cause.filter(|one| !one.is::<Unreachable>()) {
                cause = one.source();
            }
            assert!(cause.is_some(), "{error:?}");
            asked += 1;
            assert_eq!(left.lock().unwrap().len(), 2 - asked);
        }
    });
    let accepted = listener.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(accepted, Err(io::ErrorKind::WouldBlock));
}
