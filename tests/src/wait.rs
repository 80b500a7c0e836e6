//! Waiting on a condition with a limit: the only place where a test sleeps.

use std::time::{Duration, Instant};

const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Waits until `look` gives something.
///
/// # Panics
/// When the limit passes: `what` says what was waited for.
pub async fn until<T, F: Future<Output = Option<T>>>(
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> F,
) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(started.elapsed() < limit, "waited {limit:?} for: {what}");
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}
