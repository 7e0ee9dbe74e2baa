//! What a client is told while a call lasts: progress and log, in order, and before the answer.

#![allow(deprecated, reason = "log lines are asked for as long as there are clients that know them")]

use std::sync::{Arc, Mutex};

use ::rmcp::RoleServer;
use ::rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, Notification, ProgressNotificationParam, ProgressToken,
    ServerNotification,
};
use ::rmcp::service::Peer;
use mcp_core::{LogLevel, ToolEvent};
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::util::lock::lock;

/// How much may wait for a client that does not read; what comes then is left out.
const WAITING: usize = 1024;

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

/// Our name for a level.
pub(super) fn level(level: LoggingLevel) -> LogLevel {
    LogLevel::ALL[level as usize]
}

/// What a client wants to be told of a call.
pub(super) struct Wanted {
    pub(super) token: Option<ProgressToken>,
    /// From which level on log lines are wanted.
    pub(super) level: Option<LogLevel>,
}

/// Takes what a tool tells, from any thread.
pub(super) struct Teller {
    wanted: Wanted,
    tool: String,
    queue: Mutex<Queue>,
}

struct Queue {
    /// None once the call is over.
    send: Option<Sender<ServerNotification>>,
    /// How far the client knows the tool to be.
    done: f64,
}

impl Teller {
    /// None where the client wants to know nothing.
    pub(super) fn new(wanted: Wanted, tool: &str) -> Option<(Arc<Self>, Receiver<ServerNotification>)> {
        if wanted.token.is_none() && wanted.level.is_none() {
            return None;
        }
        let (send, receive) = mpsc::channel(WAITING);
        let queue = Mutex::new(Queue { send: Some(send), done: f64::NEG_INFINITY });
        Some((Arc::new(Self { wanted, tool: tool.to_owned(), queue }), receive))
    }

    pub(super) fn tell(&self, event: ToolEvent) {
        let mut queue = lock(&self.queue);
        let Queue { send: Some(send), done: told } = &mut *queue else { return };
        let notification = match (event, &self.wanted) {
            // It only ever goes on.
            (ToolEvent::Progress { done, total, message }, Wanted { token: Some(token), .. })
                if done > *told && done.is_finite() =>
            {
                *told = done;
                let mut params = ProgressNotificationParam::new(token.clone(), done);
                params.total = total.filter(|total| total.is_finite());
                params.message = message;
                ServerNotification::ProgressNotification(Notification::new(params))
            }
            (ToolEvent::Log { level, message }, Wanted { level: Some(from), .. }) if level >= *from => {
                let params = LoggingMessageNotificationParam::new(LEVELS[level as usize], message.into());
                let params = params.with_logger(&*self.tool);
                ServerNotification::LoggingMessageNotification(Notification::new(params))
            }
            _ => return,
        };
        let _ = send.try_send(notification);
    }

    /// The call is over: what was told is still sent, and nothing more.
    pub(super) fn end(&self) {
        lock(&self.queue).send = None;
    }
}

/// Sends what is told, one after the other, until there is nothing more.
pub(super) async fn send_all(mut receive: Receiver<ServerNotification>, peer: Peer<RoleServer>) {
    while let Some(notification) = receive.recv().await {
        if peer.send_notification(notification).await.is_err() {
            return;
        }
    }
}
