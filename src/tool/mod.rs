//! What a tool is: the canonical contract, its file format, its schemas, its risk language.
//!
//! No input or output happens here, and no handler is held. Reading order: `id`, `effect`,
//! `risk`, `descriptor`, `sections`, `schema`, `strict`, `manifest`, `handed`, `intent`,
//! `matcher`, `shell`, `short`, `skill`, `template`, `http`, `undo`, `words`.

pub mod descriptor;
pub mod effect;
mod handed;
pub mod http;
pub mod id;
pub mod intent;
pub mod manifest;
pub mod matcher;
pub mod risk;
pub mod schema;
pub mod sections;
pub mod shell;
pub mod short;
pub mod skill;
pub mod strict;
pub mod template;
pub mod undo;
pub mod words;
