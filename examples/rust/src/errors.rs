//! What a failed call comes with, and which failed calls are repeated.

use std::error::Error;
use std::iter::successors;
use std::time::{Duration, Instant};

use tonic::{Code, Status};
use tonic_types::StatusExt;

const PATIENCE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(2);

// --8<-- [start:retry]
/// How long to wait between attempts.
pub struct Patience {
    pause: Duration,
    until: Option<Instant>,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            pause: FIRST_PAUSE,
            until: None,
        }
    }
}

impl Patience {
    /// Returns when it is time for the next attempt, or the error if there should be none.
    pub async fn wait(&mut self, status: Status) -> Result<(), Status> {
        let until = *self.until.get_or_insert_with(|| Instant::now() + PATIENCE);
        // A fifth more or less, so that the clients of a lost server come back apart.
        let pause = retry_delay(&status)
            .unwrap_or_else(|| self.pause.mul_f64(rand::random_range(0.8..1.2)));
        if !may_pass(&status) || Instant::now() + pause > until {
            return Err(status);
        }
        self.pause = MAX_PAUSE.min(2 * self.pause);
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// Whether the same call may succeed later, or at another server.
fn may_pass(status: &Status) -> bool {
    if !reason(status).is_empty() {
        // The server has answered.
        let exhausted = status.code() == Code::ResourceExhausted && retry_delay(status).is_some();
        return status.code() == Code::Unavailable || exhausted;
    }
    match status.code() {
        // The connection was lost, or a proxy has lost the server.
        Code::Unavailable
        | Code::Internal
        | Code::Unknown
        | Code::Cancelled
        | Code::DeadlineExceeded => {
            !causes(status).any(|cause| cause.to_string().contains("invalid peer certificate"))
        }
        _ => false,
    }
}

/// Returns when the same call may succeed, if the server has named a time.
fn retry_delay(status: &Status) -> Option<Duration> {
    status.get_details_retry_info()?.retry_delay
}
// --8<-- [end:retry]

// --8<-- [start:errors]
/// Returns why the server refused a call, such as "STALE_VERSION", or "" if it was not the server
/// who said so.
pub fn reason(status: &Status) -> String {
    match status.get_details_error_info() {
        Some(info) if info.domain == "croupier.v1" => info.reason,
        _ => String::new(),
    }
}

/// Says in lines of text what an error comes with.
pub fn describe(status: &Status) -> String {
    let mut lines = vec![format!("{:?}: {}", status.code(), status.message())];
    lines.extend(
        causes(status)
            .skip(1)
            .map(|cause| format!("  because {cause}")),
    );
    let details = status.get_error_details();
    if let Some(info) = details.error_info() {
        lines.push(format!("  reason {} {:?}", info.reason, info.metadata));
    }
    for each in details
        .bad_request()
        .iter()
        .flat_map(|found| &found.field_violations)
    {
        lines.push(format!(
            "  field {}: {} ({})",
            each.field, each.description, each.reason
        ));
    }
    for each in details
        .quota_failure()
        .iter()
        .flat_map(|found| &found.violations)
    {
        lines.push(format!("  quota of {}: {}", each.subject, each.description));
    }
    if let Some(delay) = retry_delay(status) {
        lines.push(format!("  retry after {delay:?}"));
    }
    lines.join("\n")
}
// --8<-- [end:errors]

/// Yields an error, and the errors that have caused it.
fn causes(status: &Status) -> impl Iterator<Item = &dyn Error> {
    successors(Some(status as &dyn Error), |&error| error.source())
}
