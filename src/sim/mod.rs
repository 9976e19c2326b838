//! All the ways it could go wrong, on purpose.
//!
//! A second driver moves the same machine through a world in which every race, every fault and
//! every answer is a numbered choice. Laws and a small reference model judge what comes of it.
//!
//! To reproduce a failure: `proofmark sim --replay LIST`, with the list that was printed. A list
//! begins with the kinds of trouble that exist (`swarm`), then follow the choices in the order in
//! which they were made.
//!
//! Reading order: `scene` (the tools, and what their calls must come to), `swarm`, `workload`,
//! `actors`, `world`, `shown`, `seat` (one session), `driver`, `moves`, `below` (delegates),
//! `oracle`, `explore`, `parity` (both drivers agree); then `mutant` (known mistakes, and who
//! notices) and `kept` (what was found, as journals).

pub mod actors;
mod below;
pub mod driver;
pub mod explore;
pub mod kept;
mod moves;
pub mod mutant;
pub mod oracle;
pub mod parity;
pub mod scene;
mod seat;
mod shown;
pub mod swarm;
pub mod workload;
pub mod world;
