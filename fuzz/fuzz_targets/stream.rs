//! Any bytes as what a provider sends, in every dialect: reading never panics, the pieces in which
//! they arrive change nothing, limits hold, and no flawed call has arguments. The first byte says
//! how many cuts follow, a byte each: how far through the rest it is, in parts of 256.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark::runtime::dialect::{Arguments, Assembler, Dialect, Reply, WireError, WireLimits};

fn assembled<'a>(
    dialect: Dialect,
    limits: WireLimits,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Result<Reply, WireError> {
    let mut assembler = Assembler::new(dialect, limits);
    pieces.for_each(|piece| assembler.push(piece));
    assembler.finish()
}

fn reply(read: &Result<Reply, WireError>) -> &Reply {
    read.as_ref().unwrap_or_else(|error| &error.kept)
}

fuzz_target!(|input: &[u8]| {
    let Some((count, rest)) = input.split_first() else { return };
    let (cuts, bytes) = rest.split_at(usize::from(count % 8).min(rest.len()));
    let mut places: Vec<usize> =
        cuts.iter().map(|cut| bytes.len() * usize::from(*cut) / 256).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    let cut = || places.windows(2).map(|place| &bytes[place[0]..place[1]]);
    for dialect in Dialect::ALL {
        for limits in [WireLimits::default(), WireLimits { bytes: 200, parts: 3 }] {
            let whole = assembled(dialect, limits, std::iter::once(bytes));
            assert_eq!(whole, assembled(dialect, limits, cut()));
            assert_eq!(whole, assembled(dialect, limits, bytes.chunks(1)));
            let body = dialect.decode(bytes, limits);
            for read in [&whole, &body] {
                let reply = reply(read);
                assert!(reply.calls.len() <= limits.parts);
                for call in &reply.calls {
                    let malformed = matches!(call.read(), Arguments::Malformed { .. });
                    assert!(call.flaw.is_none() || malformed);
                    let unmarked = Arguments::read(&call.arguments);
                    assert!(
                        call.flaw.is_none() || matches!(unmarked, Arguments::Malformed { .. })
                    );
                }
                if let Err(error) = read {
                    assert!(!error.to_string().is_empty());
                    assert!(error.to_string().chars().count() < 1000);
                }
            }
        }
    }
});
