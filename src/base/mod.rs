//! Words without domain: canonical text, digests, bounds, secrets, positions in files, the world.
//!
//! Nothing here knows what a tool is. Reading order: `digest`, `canon`, `problem`, `document`,
//! `secret`, `redact`, `media`, `percent`, `bounded`, `jsonl`, `locate`, `world`, `group`,
//! `choice`, `yaml`.

pub mod bounded;
pub mod canon;
pub mod caught;
pub mod choice;
pub mod digest;
pub mod document;
pub mod group;
pub mod jsonl;
pub mod locate;
pub mod media;
pub mod percent;
pub mod printable;
pub mod problem;
pub mod redact;
pub mod secret;
pub mod world;
pub mod yaml;
