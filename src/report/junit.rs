//! `junit.xml`: one test case per case and provider, one per gate.

use std::path::Path;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::terminal::difference_line;
use super::{ReportError, json};
use crate::eval::gate::GateVerdict;
use crate::eval::grade::Verdict;
use crate::eval::outcome::RunResult;
use crate::eval::runner::SuiteResult;

/// The document.
///
/// # Errors
/// When it cannot be serialized.
pub fn junit(run: &RunResult) -> Result<String, ReportError> {
    let mut report = Report::new("proofmark");
    for suite in &run.suites {
        let mut cases = TestSuite::new(format!("{}/cases", suite.name));
        for case in &suite.cases {
            let status = match case.verdict {
                Verdict::Pass => TestCaseStatus::success(),
                // A case decides nothing by itself: gates and the baseline do, below.
                Verdict::Fail => {
                    let mut status = TestCaseStatus::skipped();
                    status.set_message(case.complaints.join("\n"));
                    status
                }
                Verdict::HarnessFault | Verdict::InfrastructureFault => {
                    failed(NonSuccessKind::Error, &case.complaints.join("\n"))
                }
            };
            let mut test = TestCase::new(format!("{}@{}", case.case.id, case.provider), status);
            test.set_classname(&*suite.name);
            test.set_system_out(format!("rerun: {}", json::rerun(suite, case)));
            cases.add_test_case(test);
        }
        let mut gates = TestSuite::new(format!("{}/gates", suite.name));
        for gate in &suite.gates {
            let status = match gate.verdict {
                GateVerdict::Pass => TestCaseStatus::success(),
                GateVerdict::Fail | GateVerdict::Inconclusive if gate.report_only => {
                    TestCaseStatus::success()
                }
                GateVerdict::Fail => failed(NonSuccessKind::Failure, &gate.why),
                GateVerdict::Inconclusive => failed(NonSuccessKind::Error, &gate.why),
            };
            let mut test = TestCase::new(gate.gate.clone(), status);
            test.set_system_out(format!("{}: {}", gate.verdict.name(), gate.why));
            gates.add_test_case(test);
        }
        report.add_test_suite(cases);
        report.add_test_suite(gates);
        report.add_test_suite(differences(suite, run.proposing));
    }
    report.add_test_suite(environment(run));
    report.to_string().map_err(|error| ReportError {
        path: Path::new("junit.xml").to_path_buf(),
        reason: error.to_string(),
    })
}

/// One test per difference from the baseline, as the exit code counts them.
fn differences(suite: &SuiteResult, proposing: bool) -> TestSuite {
    let mut tests = TestSuite::new(format!("{}/baseline", suite.name));
    for difference in suite.comparison.iter().flat_map(|found| &found.differences) {
        let line = difference_line(difference);
        let status = match proposing {
            true => TestCaseStatus::success(),
            false => failed(NonSuccessKind::Failure, &line),
        };
        tests.add_test_case(TestCase::new(difference.case_id.clone(), status));
    }
    tests
}

/// What was not run although it is required, and what is stale.
fn environment(run: &RunResult) -> TestSuite {
    let mut tests = TestSuite::new("environment");
    for one in &run.not_run {
        let status = match one.required {
            true => failed(NonSuccessKind::Error, &one.reason),
            false => TestCaseStatus::skipped(),
        };
        tests.add_test_case(TestCase::new(one.suite.to_string(), status));
    }
    for stale in &run.stale {
        let status = failed(NonSuccessKind::Error, stale);
        tests.add_test_case(TestCase::new("pinned listing", status));
    }
    tests
}

fn failed(kind: NonSuccessKind, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(message);
    status
}
