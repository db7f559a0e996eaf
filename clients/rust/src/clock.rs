//! The monotonic clock of all deadlines.

use std::ops::{Add, Sub};
use std::time::Duration;

/// A time of the client's clock, in nanoseconds. Steps of the wall clock change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Time(i64);

impl Time {
    /// Before every other time: a deadline that was never given.
    pub(crate) const MIN: Time = Time(i64::MIN);
    /// After every other time.
    pub(crate) const MAX: Time = Time(i64::MAX);

    /// The time until `later`, or zero if `later` has passed.
    pub(crate) fn until(self, later: Time) -> Duration {
        Duration::from_nanos(later.0.saturating_sub(self.0).max(0) as u64)
    }

    /// Adds a span of a message, which may be negative. An unset or invalid span gives `MIN`.
    pub(crate) fn plus_span(self, span: Option<&prost_types::Duration>) -> Time {
        match span.filter(|span| is_valid(span)) {
            None => Time::MIN,
            Some(span) => {
                let nanos = span
                    .seconds
                    .saturating_mul(NANOS)
                    .saturating_add(span.nanos.into());
                Time(self.0.saturating_add(nanos))
            }
        }
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, time: Duration) -> Time {
        let nanos = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        Time(self.0.saturating_add(nanos))
    }
}

impl Sub<Time> for Time {
    type Output = Duration;

    fn sub(self, earlier: Time) -> Duration {
        earlier.until(self)
    }
}

const NANOS: i64 = 1_000_000_000;
/// The largest span that google.protobuf.Duration allows: 10,000 years.
const MAX_SECONDS: i64 = 315_576_000_000;

fn is_valid(span: &prost_types::Duration) -> bool {
    let prost_types::Duration { seconds, nanos } = *span;
    seconds.abs() <= MAX_SECONDS
        && i64::from(nanos).abs() < NANOS
        && seconds.signum() * i64::from(nanos.signum()) >= 0
}

/// A span of a message as a `Duration`. None: unset, invalid or negative.
pub(crate) fn span(span: Option<&prost_types::Duration>) -> Option<Duration> {
    let span = span.filter(|span| is_valid(span))?;
    let seconds = u64::try_from(span.seconds).ok()?;
    Some(Duration::new(seconds, u32::try_from(span.nanos).ok()?))
}

/// Keeps nanoseconds, so a short wait does not become zero. Zero means "try once".
pub(crate) fn message_span(time: Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(time.as_secs())
            .unwrap_or(MAX_SECONDS)
            .min(MAX_SECONDS),
        nanos: time.subsec_nanos() as i32,
    }
}

/// Reads the time. The system's clock also counts the time in which the machine was suspended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    System,
    /// The clock of tokio, which a test can pause.
    #[cfg(test)]
    Tokio(tokio::time::Instant),
}

impl Clock {
    #[cfg(test)]
    pub(crate) fn tokio() -> Clock {
        Clock::Tokio(tokio::time::Instant::now())
    }

    pub(crate) fn now(self) -> Time {
        match self {
            Clock::System => system_time(),
            #[cfg(test)]
            Clock::Tokio(start) => Time(0) + start.elapsed(),
        }
    }
}

#[cfg(unix)]
fn system_time() -> Time {
    use rustix::time::{ClockId, clock_gettime};
    // On Apple's systems the monotonic clock itself counts a suspend.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const ID: ClockId = ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const ID: ClockId = ClockId::Monotonic;
    let now = clock_gettime(ID);
    Time(
        (now.tv_sec as i64)
            .saturating_mul(NANOS)
            .saturating_add(now.tv_nsec as i64),
    )
}

#[cfg(not(unix))]
fn system_time() -> Time {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    Time(0) + START.get_or_init(Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proto(seconds: i64, nanos: i32) -> prost_types::Duration {
        prost_types::Duration { seconds, nanos }
    }

    #[test]
    fn an_unset_or_invalid_span_gives_no_deadline() {
        let now = Time(5);
        assert_eq!(now.plus_span(None), Time::MIN);
        assert_eq!(now.plus_span(Some(&proto(1, -1))), Time::MIN);
        assert_eq!(now.plus_span(Some(&proto(0, 1_000_000_000))), Time::MIN);
        assert_eq!(now.plus_span(Some(&proto(-1, -3))), Time(5 - NANOS - 3));
    }

    #[test]
    fn the_system_clock_runs_forward() {
        let before = Clock::System.now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(Clock::System.now() - before >= Duration::from_millis(2));
    }

    #[test]
    fn a_wait_of_a_nanosecond_is_not_a_try() {
        assert_eq!(message_span(Duration::from_nanos(1)), proto(0, 1));
    }
}
