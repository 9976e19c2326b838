//! Which connections may leave: names by the descriptor's lists, addresses by what they are.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::lookup_host;

use crate::tool::sections::{EgressPolicy, Network};

/// What may be reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Egress {
    /// Whether every name may be reached that is not denied.
    pub open: bool,
    /// Entries of `allowDomains`: a name, `*.` and a name for everything below it, each with a
    /// port behind it or without one.
    pub allow: Vec<String>,
    /// Entries of `denyDomains`; stronger.
    pub deny: Vec<String>,
    /// Names that stand for addresses.
    pub fixtures: BTreeMap<String, SocketAddr>,
}

/// Ports of an entry that names none: HTTP and HTTPS.
const PORTS: [u16; 2] = [80, 443];

impl Egress {
    /// What a descriptor's section lets through.
    pub fn of(network: &Network, fixtures: BTreeMap<String, SocketAddr>) -> Self {
        Self {
            open: network.egress_policy == EgressPolicy::Open,
            allow: network.allow_domains.clone(),
            deny: network.deny_domains.clone(),
            fixtures,
        }
    }

    /// Whether a name and a port may be reached at all.
    ///
    /// # Errors
    /// Why not.
    pub fn name(&self, host: &str, port: u16) -> Result<(), &'static str> {
        let host = plain(host);
        // A denied name is denied on every port; an entry with a port denies that port.
        let denied = |entry: &String| matches(entry, &host, port, false);
        if self.deny.iter().any(denied) {
            return Err("the name is denied");
        }
        match self.open || self.allow.iter().any(|entry| matches(entry, &host, port, true)) {
            true => Ok(()),
            false => Err("the name is not allowed"),
        }
    }

    /// The address a name stands for without being looked up.
    pub fn fixture(&self, host: &str) -> Option<SocketAddr> {
        self.fixtures.get(&plain(host)).copied()
    }

    /// The addresses to connect to, and no others, for a name that may be reached.
    ///
    /// # Errors
    /// Why there are none.
    pub async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, &'static str> {
        match self.fixture(host) {
            Some(fixture) => Ok(vec![fixture]),
            None => judged(lookup_host((host, port)).await.map(Iterator::collect)),
        }
    }
}

/// What a look-up found, where all of it may be connected to.
///
/// # Errors
/// Why it may not.
pub fn judged(found: io::Result<Vec<SocketAddr>>) -> Result<Vec<SocketAddr>, &'static str> {
    let found = found.map_err(|_| "the name is not known")?;
    // One private address among others is enough: the next look-up might give it first.
    if found.is_empty() || found.iter().any(|one| is_private(one.ip())) {
        return Err("the name leads to a private address");
    }
    Ok(found)
}

/// A name without the differences that mean nothing.
fn plain(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

fn matches(entry: &str, host: &str, port: u16, web_only: bool) -> bool {
    let (name, ports) = match entry.rsplit_once(':').map(|(name, port)| (name, port.parse::<u16>()))
    {
        Some((name, Ok(one))) => (name, Some(one)),
        _ => (entry, None),
    };
    let fits = match ports {
        Some(one) => one == port,
        None => !web_only || PORTS.contains(&port),
    };
    let name = plain(name);
    fits && match name.strip_prefix("*.") {
        Some(above) => host.strip_suffix(above).is_some_and(|rest| rest.ends_with('.')),
        None => name == host,
    }
}

/// Whether an address belongs to this machine, to a network around it, or to nobody. Addresses
/// that carry another one inside are judged by it.
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => private_four(four),
        IpAddr::V6(six) => private_six(six),
    }
}

fn private_four(four: Ipv4Addr) -> bool {
    let [a, b, c, _] = four.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let assigned = a == 192 && b == 0 && c == 0;
    let benchmark = a == 198 && (b == 18 || b == 19);
    four.is_private()
        || four.is_loopback()
        || four.is_link_local()
        || four.is_multicast()
        || four.is_documentation()
        || a == 0
        || a >= 240
        || shared
        || assigned
        || benchmark
}

fn private_six(six: Ipv6Addr) -> bool {
    let parts = six.segments();
    let last = |at: usize| {
        let [high, low] = [parts[at], parts[at + 1]].map(u16::to_be_bytes);
        Ipv4Addr::new(high[0], high[1], low[0], low[1])
    };
    match parts {
        // Mapped, compatible (which the unspecified and the loopback address look like), and
        // translated addresses.
        [0, 0, 0, 0, 0, 0xffff | 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            (parts[0] == 0 && parts[5] == 0) || private_four(last(6))
        }
        [0x2002, ..] => private_four(last(1)),
        [0x64, 0xff9b, 1, ..] | [0x2001, 0, ..] | [0x2001, 0xdb8, ..] | [0x100, 0, 0, 0, ..] => {
            true
        }
        _ => six.is_unique_local() || six.is_unicast_link_local() || six.is_multicast(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_whole_with_their_port() {
        let egress = Egress {
            allow: ["a.example", "*.b.example", "c.example:8080"].map(str::to_owned).to_vec(),
            deny: vec!["bad.b.example".to_owned()],
            ..Egress::default()
        };
        let check = |host: &str, port, expected: bool| {
            assert_eq!(egress.name(host, port).is_ok(), expected, "{host}:{port}");
        };
        check("a.example", 443, true);
        check("A.Example.", 80, true);
        check("a.example", 22, false);
        check("xa.example", 443, false);
        check("sub.a.example", 443, false);
        check("a.example.evil", 443, false);
        check("x.b.example", 443, true);
        check("x.y.b.example", 443, true);
        check("b.example", 443, false);
        check("xb.example", 443, false);
        check("bad.b.example", 443, false);
        check("BAD.b.example.", 8443, false);
        check("c.example", 8080, true);
        check("c.example", 443, false);
        check("127.0.0.1", 80, false);
        check("", 80, false);
        let open = Egress { open: true, ..egress };
        let free = [("any.example", 8080), ("bad.b.example", 80), ("a.example", 22)];
        let found = free.map(|(host, port)| open.name(host, port).is_ok());
        assert_eq!(found, [true, false, true]);
    }

    #[test]
    fn addresses_of_the_machine_and_around_it_are_private_in_every_spelling() {
        let private = "127.0.0.1 127.9.9.9 0.0.0.0 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 \
             169.254.169.254 100.64.0.1 198.18.0.1 192.0.0.8 224.0.0.1 255.255.255.255 192.0.2.1 \
             :: ::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::7f00:1 64:ff9b::10.0.0.1 64:ff9b:1::1 \
             2002:7f00:1:: 2002:a00:1:: fe80::1 fc00::1 fd12::1 ff02::1 2001:db8::1 100::1";
        for text in private.split_whitespace() {
            assert!(is_private(text.parse().unwrap()), "{text}");
        }
        let public = "1.1.1.1 8.8.8.8 172.32.0.1 100.128.0.1 2606:4700::1111 ::ffff:1.1.1.1 \
             64:ff9b::8.8.8.8 2002:808:808::";
        for text in public.split_whitespace() {
            assert!(!is_private(text.parse().unwrap()), "{text}");
        }
    }
}
