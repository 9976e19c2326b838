//! HTTP tools against a real server on loopback, in whole turns whose journals the laws judge.

mod bounds;
mod reach;
mod renewed;
mod requests;
mod scene;
mod secrets;
mod suite;
