//! `cases.csv` (the baseline's own format) and `metrics.csv`.

use crate::eval::baseline;
use crate::eval::outcome::RunResult;

/// The rows of all suites, in the baseline's format; with several suites, cases are named
/// `suite/case`.
pub fn cases(run: &RunResult) -> String {
    let several = run.suites.len() > 1;
    let rows = run.suites.iter().flat_map(|suite| {
        suite.rows().into_iter().map(move |row| match several {
            true => {
                let case_id = format!("{}/{}", suite.name, row.case_id);
                baseline::Row { case_id, ..row }
            }
            false => row,
        })
    });
    baseline::write(&rows.collect::<Vec<_>>())
}

/// All metrics, one a row.
pub fn metrics(run: &RunResult) -> String {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    // Writing to memory cannot fail.
    let _header = writer
        .write_record(["suite", "name", "scope", "num", "den", "value", "lo", "hi", "method"]);
    for suite in &run.suites {
        for metric in &suite.metrics {
            let scope: Vec<String> =
                metric.scope.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let number = |value: Option<f64>| value.map(|v| format!("{v:.6}")).unwrap_or_default();
            let _row = writer.write_record([
                suite.name.to_string(),
                metric.name.to_owned(),
                scope.join(";"),
                metric.num.to_string(),
                metric.den.to_string(),
                number(metric.value()),
                number(metric.interval.map(|i| i.lo)),
                number(metric.interval.map(|i| i.hi)),
                metric.method.to_owned(),
            ]);
        }
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}
