//! The times until the next attempt, with full jitter so that thousands of clients do not come at once.

use std::time::Duration;

use crate::numbers::{
    ATTACH_SHARE, FIRST_BACKOFF, LONGEST_BACKOFF, LONGEST_PAUSE_AFTER_BREAK,
    PAUSE_AFTER_BREAK_IS_DEADLINE_DIVIDED_BY, SHORTEST_PAUSE,
};

/// The pause before the next session. `failures` counts the sessions in a row without a first
/// response. `nearest_deadline` is the time to the nearest deadline of a held lease.
pub(crate) fn before_session(failures: u32, nearest_deadline: Option<Duration>) -> Duration {
    let longest = match failures {
        0 => LONGEST_PAUSE_AFTER_BREAK,
        failures => backoff(failures),
    };
    let limit = nearest_deadline.map_or(longest, |time| {
        longest.min(time / PAUSE_AFTER_BREAK_IS_DEADLINE_DIVIDED_BY)
    });
    SHORTEST_PAUSE.max(limit.mul_f64(fastrand::f64()))
}

/// The pause after the end of a session. `advised` is the delay that the server advises.
pub(crate) fn after_end(
    failures: u32,
    advised: Option<Duration>,
    nearest_deadline: Option<Duration>,
) -> Duration {
    let advised = advised.unwrap_or_default().min(LONGEST_BACKOFF);
    let pause = before_session(failures, nearest_deadline).max(advised);
    nearest_deadline.map_or(pause, |left| within(pause, left))
}

/// The pause before an attach is repeated. `left` is the time to the deadline of the lease.
pub(crate) fn before_attach(attempts: u32, advised: Option<Duration>, left: Duration) -> Duration {
    within(before_repeat(attempts, advised), left)
}

/// A part of the time to a deadline is left for the attach.
fn within(pause: Duration, left: Duration) -> Duration {
    SHORTEST_PAUSE.max(pause.min(left.mul_f64(ATTACH_SHARE)))
}

/// The pause before a command or a call is repeated. `attempts` counts the failures in a row.
pub(crate) fn before_repeat(attempts: u32, advised: Option<Duration>) -> Duration {
    let advised = advised.unwrap_or_default().min(LONGEST_BACKOFF);
    SHORTEST_PAUSE
        .max(advised)
        .max(backoff(attempts).mul_f64(fastrand::f64()))
}

fn backoff(failures: u32) -> Duration {
    LONGEST_BACKOFF.min(FIRST_BACKOFF * 2u32.pow(failures.min(10)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_deadline_shortens_the_pause_before_a_session() {
        for _ in 0..200 {
            let pause = before_session(3, Some(Duration::from_millis(100)));
            assert!(pause >= SHORTEST_PAUSE && pause <= Duration::from_millis(10));
        }
    }

    #[test]
    fn the_advice_after_the_end_of_a_session_leaves_half_of_the_time_to_the_deadline() {
        let minute = Some(Duration::from_secs(60));
        for _ in 0..200 {
            assert_eq!(after_end(0, minute, None), LONGEST_BACKOFF);
            let near = Some(Duration::from_secs(8));
            assert_eq!(after_end(0, minute, near), Duration::from_secs(4));
            let advised = Some(Duration::from_secs(3));
            assert_eq!(after_end(0, advised, near), Duration::from_secs(3));
            assert_eq!(after_end(0, advised, Some(Duration::ZERO)), SHORTEST_PAUSE);
        }
    }

    #[test]
    fn the_advice_after_a_failed_attach_leaves_half_of_the_time_to_the_deadline() {
        let advised = Some(Duration::from_secs(4));
        for _ in 0..200 {
            let pause = before_attach(1, advised, Duration::from_secs(20));
            assert_eq!(pause, Duration::from_secs(4));
            let pause = before_attach(1, advised, Duration::from_secs(6));
            assert_eq!(pause, Duration::from_secs(3));
            assert!(before_attach(9, None, Duration::from_millis(20)) <= Duration::from_millis(10));
        }
    }

    #[test]
    fn the_advice_of_the_server_is_the_least_pause() {
        for _ in 0..200 {
            let pause = before_repeat(1, Some(Duration::from_millis(300)));
            assert_eq!(pause, Duration::from_millis(300));
        }
        assert!(before_repeat(90, None) <= LONGEST_BACKOFF);
    }
}
