//! Sends the events of a running call as notifications to the client: in order, and before the response.

#![allow(deprecated, reason = "log messages are still sent to the clients that request them")]

use std::sync::{Arc, Mutex};

use ::rmcp::RoleServer;
use ::rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, Notification, ProgressNotificationParam, ProgressToken,
    ServerNotification,
};
use ::rmcp::service::Peer;
use mcp_core::LogLevel;
use mcp_core::context::ToolEvent;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::util::lock::lock;

/// The number of notifications that are queued for a client that does not read. Further ones are dropped.
const MAX_QUEUED: usize = 1024;

const LEVELS: [LoggingLevel; 8] = [
    LoggingLevel::Debug,
    LoggingLevel::Info,
    LoggingLevel::Notice,
    LoggingLevel::Warning,
    LoggingLevel::Error,
    LoggingLevel::Critical,
    LoggingLevel::Alert,
    LoggingLevel::Emergency,
];

/// Converts a log level of rmcp.
pub(super) fn log_level(level: LoggingLevel) -> LogLevel {
    LogLevel::ALL[level as usize]
}

/// The notifications that a client requests for a call.
pub(super) struct Requested {
    pub(super) progress_token: Option<ProgressToken>,
    /// The minimum level of log messages.
    pub(super) level: Option<LogLevel>,
}

/// Queues the events of a tool as notifications, from any thread.
pub(super) struct EventSender {
    requested: Requested,
    tool: String,
    queue: Mutex<Queue>,
}

struct Queue {
    /// `None` after the call has ended.
    sender: Option<Sender<ServerNotification>>,
    /// The last progress that was sent.
    progress: f64,
}

impl EventSender {
    /// `None` if the client requests no notifications.
    pub(super) fn new(requested: Requested, tool: &str) -> Option<(Arc<Self>, Receiver<ServerNotification>)> {
        if requested.progress_token.is_none() && requested.level.is_none() {
            return None;
        }
        let (sender, receiver) = mpsc::channel(MAX_QUEUED);
        let queue = Mutex::new(Queue { sender: Some(sender), progress: f64::NEG_INFINITY });
        Some((Arc::new(Self { requested, tool: tool.to_owned(), queue }), receiver))
    }

    pub(super) fn send(&self, event: ToolEvent) {
        let mut queue = lock(&self.queue);
        let Queue { sender: Some(sender), progress } = &mut *queue else { return };
        let notification = match (event, &self.requested) {
            // The protocol requires that progress increases.
            (ToolEvent::Progress { done, total, message }, Requested { progress_token: Some(token), .. })
                if done > *progress && done.is_finite() =>
            {
                *progress = done;
                let mut params = ProgressNotificationParam::new(token.clone(), done);
                params.total = total.filter(|total| total.is_finite());
                params.message = message;
                ServerNotification::ProgressNotification(Notification::new(params))
            }
            (ToolEvent::Log { level, message }, Requested { level: Some(min_level), .. }) if level >= *min_level => {
                let params = LoggingMessageNotificationParam::new(LEVELS[level as usize], message.into());
                let params = params.with_logger(&*self.tool);
                ServerNotification::LoggingMessageNotification(Notification::new(params))
            }
            _ => return,
        };
        // If the queue is full, drop the notification.
        let _ = sender.try_send(notification);
    }

    /// Closes the queue: queued notifications are still sent, later ones are dropped.
    pub(super) fn close(&self) {
        lock(&self.queue).sender = None;
    }
}

/// Sends the queued notifications to the client until the queue ends.
pub(super) async fn forward(mut queue: Receiver<ServerNotification>, peer: Peer<RoleServer>) {
    while let Some(notification) = queue.recv().await {
        if peer.send_notification(notification).await.is_err() {
            return;
        }
    }
}
