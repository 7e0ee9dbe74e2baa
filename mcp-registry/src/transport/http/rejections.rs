//! Reports rejected requests to the observers, and delays the responses to wrong tokens.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use mcp_core::support::cut;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::call::observe::{Rejection, RejectionReason};
use crate::protocol::Server;
use crate::util::lock::lock;

/// The number of rejections per reason and window that are reported one by one. The others are reported together.
const BURST: u32 = 8;
const WINDOW: Duration = Duration::from_secs(1);

/// The maximum size of a detail, which the sender chooses.
const MAX_DETAIL_BYTES: usize = 256;

/// The delay for the first wrong token, and the maximum delay.
const FIRST_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(2);

/// The number of wrong tokens after which the delay doubles.
const TOKENS_PER_DOUBLING: u32 = 4;

/// The maximum number of wrong tokens whose delay is not over. Beyond it, no token is compared: otherwise, guesses that are
/// sent at the same time would not be slowed down.
const MAX_DELAYED: usize = 128;

/// The same for one address, so that its guesses do not lock out the clients at others.
const MAX_DELAYED_PER_ADDRESS: usize = 32;

/// The rejections of a server.
pub(super) struct Rejections {
    server: Server,
    windows: Mutex<HashMap<RejectionReason, Window>>,
    wrong_tokens: Mutex<WrongTokens>,
    /// The number of tokens that are being compared, or were wrong and whose delay is not over.
    delayed: AtomicUsize,
}

/// The recent reports of one reason.
#[derive(Default)]
struct Window {
    began: Option<Instant>,
    reported: u32,
    /// The number of rejections that are not reported yet.
    unreported: u64,
    /// Whether a task will report them at the end of the window.
    is_closing: bool,
}

/// The number of recent wrong tokens. It decreases by one each second.
#[derive(Default)]
struct WrongTokens {
    count: u32,
    last: Option<Instant>,
    /// The number of wrong tokens whose delay is not over, by address.
    delayed: HashMap<IpAddr, usize>,
}

/// A place for one token that is compared. If it is wrong, the place is taken until its delay is over.
pub(super) struct Comparison {
    rejections: Arc<Rejections>,
    client: Option<SocketAddr>,
    /// The address, once the token was wrong.
    address: Option<IpAddr>,
}

impl Rejections {
    pub(super) fn new(server: Server) -> Self {
        Self { server, windows: Mutex::default(), wrong_tokens: Mutex::default(), delayed: 0.into() }
    }

    /// Reports a rejected request, by itself or together with others of the same reason.
    pub(super) fn report(self: &Arc<Self>, reason: RejectionReason, detail: Option<&str>, client: Option<SocketAddr>) {
        let mut windows = lock(&self.windows);
        let window = windows.entry(reason).or_default();
        let now = Instant::now();
        if window.began.is_none_or(|began| now.duration_since(began) >= WINDOW) {
            (window.began, window.reported) = (Some(now), 0);
        }
        if window.reported < BURST {
            window.reported += 1;
            let count = 1 + std::mem::take(&mut window.unreported);
            drop(windows);
            self.report_now(reason, detail, client, count);
            return;
        }
        window.unreported += 1;
        if !std::mem::replace(&mut window.is_closing, true) {
            let rejections = Arc::clone(self);
            tokio::spawn(async move {
                sleep(WINDOW).await;
                rejections.report_remaining(reason);
            });
        }
    }

    /// A place to compare a token. `None` if too many wrong ones are being delayed, which is reported.
    pub(super) fn compare(self: &Arc<Self>, client: Option<SocketAddr>) -> Option<Comparison> {
        let place = Comparison { rejections: Arc::clone(self), client, address: None };
        let others = self.delayed.fetch_add(1, Ordering::Relaxed);
        let of_address = |address| lock(&self.wrong_tokens).delayed.get(&address).copied().unwrap_or_default();
        // Most of the time, there are too few for one address to have too many.
        let is_full = others >= MAX_DELAYED
            || (others >= MAX_DELAYED_PER_ADDRESS
                && client.is_some_and(|client| of_address(origin(client)) >= MAX_DELAYED_PER_ADDRESS));
        if is_full {
            self.report(RejectionReason::Busy, Some("wrong tokens"), client);
            return None;
        }
        Some(place)
    }

    fn report_now(&self, reason: RejectionReason, detail: Option<&str>, client: Option<SocketAddr>, count: u64) {
        let detail = detail.map(|detail| cut(detail, MAX_DETAIL_BYTES));
        let rejection = Rejection { time: SystemTime::now(), reason, detail: detail.as_deref(), client, count };
        self.server.registry().settings().rejected(&rejection);
    }

    /// Reports the rejections that were not reported yet.
    fn report_remaining(&self, reason: RejectionReason) {
        let count = lock(&self.windows).get_mut(&reason).map_or(0, |window| {
            window.is_closing = false;
            std::mem::take(&mut window.unreported)
        });
        if count > 0 {
            self.report_now(reason, None, None, count);
        }
    }
}

impl Comparison {
    /// Begins the delay of a wrong token, which is longer if there were many recently. The place is taken until its end,
    /// even if the client does not wait for its answer.
    pub(super) fn delay(mut self) -> JoinHandle<()> {
        let delay = {
            let mut wrong_tokens = lock(&self.rejections.wrong_tokens);
            self.address = self.client.map(origin);
            self.address.into_iter().for_each(|address| *wrong_tokens.delayed.entry(address).or_default() += 1);
            wrong_tokens.next_delay(Instant::now())
        };
        tokio::spawn(async move {
            sleep(delay).await;
            drop(self);
        })
    }
}

impl Drop for Comparison {
    fn drop(&mut self) {
        self.rejections.delayed.fetch_sub(1, Ordering::Relaxed);
        let Some(address) = self.address else { return };
        let delayed = &mut lock(&self.rejections.wrong_tokens).delayed;
        if let Entry::Occupied(mut count) = delayed.entry(address) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

/// The address that wrong tokens are counted for: of IPv6, the network, in which a host can have any address.
fn origin(client: SocketAddr) -> IpAddr {
    match client.ip().to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

impl WrongTokens {
    /// Counts a wrong token, and returns the delay of its answer.
    fn next_delay(&mut self, now: Instant) -> Duration {
        let seconds = self.last.map_or(0, |last| now.duration_since(last).as_secs());
        self.count = self.count.saturating_sub(u32::try_from(seconds).unwrap_or(u32::MAX));
        self.last = Some(now);
        let doubled = (self.count / TOKENS_PER_DOUBLING).min(16);
        self.count = self.count.saturating_add(1).min(16 * TOKENS_PER_DOUBLING);
        FIRST_DELAY.saturating_mul(1 << doubled).min(MAX_DELAY)
    }
}

impl Drop for Rejections {
    fn drop(&mut self) {
        let reasons: Vec<RejectionReason> = lock(&self.windows).keys().copied().collect();
        for reason in reasons {
            self.report_remaining(reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{FIRST_DELAY, MAX_DELAY, WrongTokens};

    #[test]
    fn the_delay_grows_to_a_limit_and_shrinks_again() {
        let (mut wrong_tokens, now) = (WrongTokens::default(), Instant::now());
        let delays: Vec<Duration> = (0..1000).map(|_| wrong_tokens.next_delay(now)).collect();
        assert!(delays.is_sorted());
        assert_eq!((delays[0], delays[999]), (FIRST_DELAY, MAX_DELAY));
        assert_eq!(wrong_tokens.next_delay(now + Duration::from_secs(100)), FIRST_DELAY);
    }
}
