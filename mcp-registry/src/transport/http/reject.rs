//! Rejected requests: reported to the observers, and slowed down where a token was wrong.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use mcp_core::__private::cut;
use tokio::time::{Instant, sleep};

use crate::call::observe::{Rejection, RejectionReason};
use crate::protocol::Server;

/// How many rejections of one reason are reported by themselves in each window. The others are reported together.
const BURST: u32 = 8;
const WINDOW: Duration = Duration::from_secs(1);

/// The most bytes of a detail: the sender chooses how long it is.
const LONGEST_DETAIL: usize = 256;

/// The delay of the first wrong token, and of the last ones in a row.
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(2);

/// After how many wrong tokens the delay is doubled.
const DOUBLED_AFTER: u32 = 4;

/// The maximum number of answers that are delayed at a time. Beyond that they are sent at once.
const MOST_DELAYED: usize = 128;

/// The reasons in the order of their windows.
const REASONS: [RejectionReason; 6] = [
    RejectionReason::Host,
    RejectionReason::Origin,
    RejectionReason::MissingToken,
    RejectionReason::WrongToken,
    RejectionReason::ForeignSession,
    RejectionReason::Busy,
];

/// The rejections of a server.
#[derive(Clone)]
pub(super) struct Rejections(Arc<Inner>);

struct Inner {
    server: Server,
    windows: [Mutex<Window>; REASONS.len()],
    guesses: Mutex<Guesses>,
    delayed: AtomicUsize,
}

/// What was reported of one reason of late.
#[derive(Default)]
struct Window {
    began: Option<Instant>,
    reported: u32,
    /// How many are not reported yet.
    unreported: u64,
    /// Whether these will be when the window is over.
    is_closing: bool,
}

/// Wrong tokens of late. One is forgotten each second.
#[derive(Default)]
struct Guesses {
    count: u32,
    last: Option<Instant>,
}

impl Rejections {
    pub(super) fn new(server: Server) -> Self {
        let (windows, guesses) = (Default::default(), Mutex::default());
        Self(Arc::new(Inner { server, windows, guesses, delayed: 0.into() }))
    }

    /// Reports a rejected request, by itself or together with others of the same reason.
    pub(super) fn report(&self, reason: RejectionReason, detail: Option<&str>, client: Option<SocketAddr>) {
        let mut window = self.0.window(reason);
        let now = Instant::now();
        if window.began.is_none_or(|began| now.duration_since(began) >= WINDOW) {
            (window.began, window.reported) = (Some(now), 0);
        }
        if window.reported < BURST {
            window.reported += 1;
            let count = 1 + std::mem::take(&mut window.unreported);
            drop(window);
            self.0.tell(reason, detail, client, count);
            return;
        }
        window.unreported += 1;
        if !std::mem::replace(&mut window.is_closing, true) {
            let inner = Arc::clone(&self.0);
            tokio::spawn(async move {
                sleep(WINDOW).await;
                inner.window(reason).is_closing = false;
                inner.tell_rest(reason);
            });
        }
    }

    /// Waits before a wrong token is answered: longer, the more there were of late. False if too many wait already.
    pub(super) async fn delay(&self) -> bool {
        // Given back by the drop, also when the client goes.
        let slot = Slot(&self.0.delayed);
        let delay = self.0.guesses.lock().unwrap_or_else(PoisonError::into_inner).next(Instant::now());
        if slot.0.fetch_add(1, Ordering::Relaxed) >= MOST_DELAYED {
            return false;
        }
        sleep(delay).await;
        true
    }
}

struct Slot<'a>(&'a AtomicUsize);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Guesses {
    /// Counts a wrong token, and says how long its answer is delayed.
    fn next(&mut self, now: Instant) -> Duration {
        let seconds = self.last.map_or(0, |last| now.duration_since(last).as_secs());
        self.count = self.count.saturating_sub(u32::try_from(seconds).unwrap_or(u32::MAX));
        self.last = Some(now);
        let doubled = (self.count / DOUBLED_AFTER).min(16);
        self.count = self.count.saturating_add(1).min(16 * DOUBLED_AFTER);
        FIRST_DELAY.saturating_mul(1 << doubled).min(LONGEST_DELAY)
    }
}

impl Inner {
    fn window(&self, reason: RejectionReason) -> MutexGuard<'_, Window> {
        let place = REASONS.iter().position(|known| *known == reason).unwrap_or_default();
        self.windows[place].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, reason: RejectionReason, detail: Option<&str>, client: Option<SocketAddr>, count: u64) {
        let detail = detail.map(|detail| cut(detail, LONGEST_DETAIL));
        let rejection = Rejection { time: SystemTime::now(), reason, detail: detail.as_deref(), client, count };
        self.server.registry().settings().rejected(&rejection);
    }

    /// Reports those that are not yet.
    fn tell_rest(&self, reason: RejectionReason) {
        let count = std::mem::take(&mut self.window(reason).unreported);
        if count > 0 {
            self.tell(reason, None, None, count);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        for reason in REASONS {
            self.tell_rest(reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{FIRST_DELAY, Guesses, LONGEST_DELAY};

    #[test]
    fn the_delay_grows_to_a_bound_and_shrinks_again() {
        let (mut guesses, now) = (Guesses::default(), Instant::now());
        let delays: Vec<Duration> = (0..1000).map(|_| guesses.next(now)).collect();
        assert!(delays.is_sorted());
        assert_eq!((delays[0], delays[999]), (FIRST_DELAY, LONGEST_DELAY));
        assert_eq!(guesses.next(now + Duration::from_secs(100)), FIRST_DELAY);
    }
}
