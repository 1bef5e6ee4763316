//! Delays between tries: a [`Curve`] that grows with failures, and [`jitter`] on top of it.
//!
//! In: how often something failed in a row, and random numbers. Out: how long to wait. Both are pure; whoever waits reads
//! the clock. A curve is drawn once, so that per-key state is a count of failures and not a generator.
//!
//! The curve is drawn by the `backoff` crate, which is no longer maintained upstream. The trait `Growth` below is
//! the seam: only `Exponential` knows the crate, and replacing it means writing one other `Growth`.

use std::time::Duration;

/// Longest curve that is drawn. With any factor above 1.2 the maximum is reached well before.
const MAX_STEPS: usize = 64;

/// Shortest delay, and what delays are rounded to.
const SHORTEST: Duration = Duration::from_micros(1);

/// Hands out the delays of a curve, one after the other, without randomness.
trait Growth {
    /// The next delay.
    fn next_delay(&mut self) -> Duration;
}

/// How long to wait after a number of failures in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve(Vec<Duration>);

impl Curve {
    /// A curve that starts at `initial` and doubles up to `max`. A `max` below `initial` is taken as `initial`, and an
    /// `initial` below a microsecond as one: from nothing, doubling leads nowhere.
    pub fn new(initial: Duration, max: Duration) -> Self {
        let initial = initial.max(SHORTEST);
        Self::draw(&mut Exponential::new(initial, max.max(initial)))
    }

    /// The curve of list and watch requests: 800 ms doubling to 30 s, the values that Kubernetes' own clients use so that
    /// a fleet of clients does not hold down a server that is coming back.
    pub fn watch() -> Self {
        Self::new(Duration::from_millis(800), Duration::from_secs(30))
    }

    /// The delay after `failures` failures in a row; none have happened: no delay.
    pub fn delay(&self, failures: u32) -> Duration {
        match failures {
            0 => Duration::ZERO,
            n => self.0[(n as usize - 1).min(self.0.len() - 1)],
        }
    }

    /// The longest delay.
    pub fn max(&self) -> Duration {
        self.0[self.0.len() - 1]
    }

    fn draw(growth: &mut impl Growth) -> Self {
        let mut delays = vec![growth.next_delay()];
        while delays.len() < MAX_STEPS {
            let next = growth.next_delay();
            if next <= delays[delays.len() - 1] {
                break;
            }
            delays.push(next);
        }
        Self(delays)
    }
}

/// Adds up to half of `delay` to it, so that clients that failed together do not come back together.
pub fn jitter(delay: Duration, rng: &mut fastrand::Rng) -> Duration {
    delay.saturating_add(delay.mul_f64(rng.f64() / 2.0))
}

/// The crate reads a clock as it goes, but without a `max_elapsed_time` nothing depends on it.
struct Exponential(backoff::exponential::ExponentialBackoff<backoff::SystemClock>);

impl Exponential {
    fn new(initial: Duration, max: Duration) -> Self {
        Self(backoff::exponential::ExponentialBackoff {
            current_interval: initial,
            initial_interval: initial,
            // The crate's own randomness is off: jitter is drawn from the caller's numbers.
            randomization_factor: 0.0,
            multiplier: 2.0,
            max_interval: max,
            max_elapsed_time: None,
            ..Default::default()
        })
    }
}

impl Growth for Exponential {
    fn next_delay(&mut self) -> Duration {
        let delay = backoff::backoff::Backoff::next_backoff(&mut self.0);
        // Without a `max_elapsed_time` there is always a next delay.
        let delay = delay.unwrap_or(self.0.max_interval);
        // The crate computes in floating point; a delay is whole microseconds here.
        Duration::from_micros(u64::try_from((delay.as_nanos() + 500) / 1000).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watch_curve_doubles_from_800_ms_to_30_s() {
        let curve = Curve::watch();
        for (failures, ms) in [
            (0, 0),
            (1, 800),
            (2, 1600),
            (3, 3200),
            (4, 6400),
            (5, 12_800),
            (6, 25_600),
            (7, 30_000),
            (u32::MAX, 30_000),
        ] {
            assert_eq!(curve.delay(failures), Duration::from_millis(ms), "after {failures} failures");
        }
        assert_eq!(curve.max(), Duration::from_secs(30));
    }

    #[test]
    fn a_curve_stays_within_its_bounds() {
        for (initial, max, third) in [(5, 1_000_000, 20), (100, 100, 100), (100, 10, 100)] {
            let curve = Curve::new(Duration::from_millis(initial), Duration::from_millis(max));
            assert_eq!(curve.delay(1), Duration::from_millis(initial));
            assert_eq!(curve.delay(3), Duration::from_millis(third));
            assert_eq!(curve.max(), Duration::from_millis(max.max(initial)));
        }
    }

    #[test]
    fn the_ends_of_time_are_no_trouble() {
        for nothing in [Duration::ZERO, Duration::from_nanos(1)] {
            let curve = Curve::new(nothing, Duration::from_secs(30));
            assert_eq!((curve.delay(1), curve.max()), (SHORTEST, Duration::from_secs(30)));
        }
        let curve = Curve::new(Duration::from_secs(1), Duration::MAX);
        assert!(curve.max() > Duration::from_hours(24 * 365));
        let mut rng = fastrand::Rng::with_seed(7);
        assert_eq!(jitter(Duration::MAX, &mut rng), Duration::MAX);
    }

    #[test]
    fn jitter_adds_at_most_half() {
        let mut rng = fastrand::Rng::with_seed(7);
        let delay = Duration::from_secs(1);
        let all: Vec<_> = (0..1000).map(|_| jitter(delay, &mut rng)).collect();
        assert!(all.iter().all(|d| *d >= delay && *d <= delay * 3 / 2));
        assert!(all.iter().any(|d| *d > delay * 5 / 4) && all.iter().any(|d| *d < delay * 5 / 4));
    }
}
