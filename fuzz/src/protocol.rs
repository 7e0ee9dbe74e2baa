//! Messages to [`Server::begin`](mcp_registry::Server::begin), several on one connection.
//!
//! The input is cut at line breaks. A line that begins with the byte 1 stands for a message that is made from the bytes
//! after it. At an empty line, the requests in flight that wait for nothing else are answered.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use mcp_registry::protocol::{Peer, PendingReply};
use mcp_registry::testing::block_on;
use serde_json::Value;

use crate::dice::Dice;
use crate::generate;
use crate::message::{self, Due, Sent};
use crate::served::{LONGEST, SERVER, TOOLS};
use crate::shown;

/// More turns than any tool takes.
const TURNS: usize = 8;

/// A request in flight.
struct Flight {
    message: Vec<u8>,
    due: Due,
    rest: PendingReply,
    cancelled: bool,
}

/// One connection.
struct Connection {
    peer: Peer,
    told: Arc<Mutex<Vec<Vec<u8>>>>,
    flights: Vec<Flight>,
    /// The answers, in the order of their arrival; none for a message that is not answered.
    answers: Vec<Option<Vec<u8>>>,
}

impl Connection {
    fn new() -> Self {
        let told: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let sink = Arc::clone(&told);
        let peer =
            Peer::builder().on_notification(move |message| sink.lock().expect("nothing panics").push(message)).build();
        Self { peer, told, flights: Vec::new(), answers: Vec::new() }
    }

    fn send(&mut self, message: &[u8]) {
        let due = message::due(message, LONGEST);
        if let Some(id) = message::cancelled(message) {
            let ids = |due: &Due| matches!(due, Due::One(ids) if ids.contains(&id));
            self.flights.iter_mut().filter(|flight| ids(&flight.due)).for_each(|flight| flight.cancelled = true);
        }
        let mut out = Vec::new();
        match SERVER.begin(message, &self.peer, &mut out) {
            None => self.answer(message, &due, (!out.is_empty()).then_some(out), false),
            Some(mut rest) => {
                assert!(out.is_empty(), "a request in flight is answered already: {}", shown(message));
                match Pin::new(&mut rest).poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(answer) => self.answer(message, &due, answer, false),
                    Poll::Pending => {
                        self.flights.push(Flight { message: message.to_vec(), due, rest, cancelled: false });
                    }
                }
            }
        }
    }

    fn answer(&mut self, message: &[u8], due: &Due, answer: Option<Vec<u8>>, cancelled: bool) {
        let sent = answer.as_deref().map(message::sent);
        match (due, &sent) {
            (Due::Nothing | Due::Maybe(_), None) | (Due::Flat, Some(Sent::Flat)) => {}
            (Due::One(ids) | Due::Maybe(ids), Some(Sent::Response(id))) if ids.contains(id) => {}
            (Due::One(_), None) if cancelled => {}
            _ => panic!("{due:?} is due, and it is {sent:?}: {}", shown(message)),
        }
        self.answers.push(answer);
    }

    /// Answers the requests in flight that wait for nothing but their turn.
    fn settle(&mut self) {
        for mut flight in std::mem::take(&mut self.flights) {
            let mut polls =
                (0..TURNS).map(|_| Pin::new(&mut flight.rest).poll(&mut Context::from_waker(Waker::noop())));
            match polls.find(Poll::is_ready) {
                Some(Poll::Ready(answer)) => self.answer(&flight.message, &flight.due, answer, flight.cancelled),
                _ => self.flights.push(flight),
            }
        }
    }

    fn end(&mut self) {
        self.peer.finish();
        for Flight { message, due, rest, cancelled } in std::mem::take(&mut self.flights) {
            let answer = block_on(rest);
            self.answer(&message, &due, answer, cancelled);
        }
        assert_eq!(self.peer.in_flight(), 0);
        for message in self.told.lock().expect("nothing panics").iter() {
            assert!(matches!(message::sent(message), Sent::Notification), "{}", shown(message));
        }
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let (mut plain, mut spaced) = (Connection::new(), Connection::new());
    let mut is_same = true;
    for line in data.split(|byte| *byte == b'\n').take(16) {
        let made;
        let message = match line.split_first() {
            None => {
                plain.settle();
                spaced.settle();
                continue;
            }
            Some((1, rest)) => {
                made = generate::message(&TOOLS, &mut Dice::new(rest));
                made.as_bytes()
            }
            Some(_) => line,
        };
        plain.send(message);
        // White space makes no difference, except that errors mention positions. Whether a tool that is not `inline` answers
        // at once depends on time.
        let value = serde_json::from_slice::<Value>(message).map(|value| value.to_string());
        let is_timed = |value: &String| ["pool", "wait"].iter().any(|tool| value.contains(tool));
        is_same &= message.len() < LONGEST && value.is_ok_and(|value| !is_timed(&value));
        if is_same {
            spaced.send(&[b" ", message].concat());
        }
    }
    plain.end();
    spaced.end();
    if is_same {
        let read = |answers: &[Option<Vec<u8>>]| -> Vec<String> {
            answers.iter().map(|answer| answer.as_deref().map_or_else(|| Value::Null.to_string(), shown)).collect()
        };
        assert_eq!(read(&plain.answers), read(&spaced.answers), "white space makes a difference");
    }
}
