//! A progress bar, on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The bar; hidden where there is no terminal.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar on standard error, or none.
    pub fn new(visible: bool) -> Self {
        let target =
            if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len}") {
            bar.set_style(style);
        }
        Self { bar }
    }

    /// A suite of so many trials begins.
    pub fn suite(&self, name: &str, trials: usize) {
        self.bar.set_position(0);
        self.bar.set_length(trials as u64);
        self.bar.set_message(name.to_owned());
    }

    /// A trial ended.
    pub fn trial(&self) {
        self.bar.inc(1);
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
