//! `junit.xml`: one test case per case and provider, one per gate.

use std::path::Path;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{ReportError, json};
use crate::eval::gate::GateVerdict;
use crate::eval::grade::Verdict;
use crate::eval::outcome::RunResult;

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
                Verdict::Fail => failed(NonSuccessKind::Failure, &case.complaints.join("\n")),
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
                GateVerdict::Fail if !gate.report_only => {
                    failed(NonSuccessKind::Failure, &gate.why)
                }
                GateVerdict::Pass | GateVerdict::Fail | GateVerdict::Inconclusive => {
                    TestCaseStatus::success()
                }
            };
            let mut test = TestCase::new(gate.gate.clone(), status);
            test.set_system_out(format!("{}: {}", gate.verdict.name(), gate.why));
            gates.add_test_case(test);
        }
        report.add_test_suite(cases);
        report.add_test_suite(gates);
    }
    report.to_string().map_err(|error| ReportError {
        path: Path::new("junit.xml").to_path_buf(),
        reason: error.to_string(),
    })
}

fn failed(kind: NonSuccessKind, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(message);
    status
}
