//! The questions that were asked, and the answers to them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use mcp_core::support::schema::NodeId;

use super::names::Context;
use super::{Comparison, Found};

/// A question about a part of a value: do all of these schemas imply that one, if they are compared like this, there?
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Question {
    pub(super) nodes: Vec<NodeId>,
    pub(super) target: NodeId,
    pub(super) how: Comparison,
    pub(super) context: Rc<Context>,
}

/// How often the gaps of one question are noted, at different places.
const MAX_REPEATED: usize = 4;

/// A yes, and what was noted on the way.
#[derive(Clone)]
struct Yes {
    /// The gaps that may be, with paths from the part on.
    found: Rc<[Found]>,
    /// The first open question that it assumes the answer to.
    assumes: usize,
    /// How often that was noted.
    noted: usize,
}

#[derive(Default)]
pub(super) struct Answers {
    /// The questions that are being answered. Their parts may assume the answer, since every value is finite.
    open: RefCell<Vec<Question>>,
    yes: RefCell<HashMap<Question, Yes>>,
    /// The questions that were answered with yes, as long as an open one is.
    provisional: RefCell<Vec<Question>>,
    /// How often the gaps of those that were answered with no were noted.
    no: RefCell<HashMap<Question, usize>>,
    /// The first open question that the current answer assumes the answer to.
    assumes: Cell<usize>,
}

/// A known answer.
pub(super) enum Known {
    /// Yes, and the gaps that may be.
    Yes(Rc<[Found]>),
    No,
}

/// A question that is being answered.
pub(super) struct Open {
    depth: usize,
    outer: usize,
    provisional: usize,
}

impl Answers {
    /// The answer, if it is known. In a trial, gaps are not noted.
    pub(super) fn known(&self, question: &Question, is_trial: bool) -> Option<Known> {
        if let Some(depth) = self.open.borrow().iter().position(|open| open == question) {
            self.assumes.set(self.assumes.get().min(depth));
            return Some(Known::Yes(Rc::default()));
        }
        if let Some(yes) = self.yes.borrow_mut().get_mut(question) {
            self.assumes.set(self.assumes.get().min(yes.assumes));
            yes.noted += usize::from(!is_trial);
            let is_noted = yes.noted <= MAX_REPEATED;
            return Some(Known::Yes(if is_noted { Rc::clone(&yes.found) } else { Rc::default() }));
        }
        let no = self.no.borrow();
        no.get(question).filter(|noted| is_trial || **noted >= MAX_REPEATED).map(|_| Known::No)
    }

    pub(super) fn begin(&self, question: &Question) -> Open {
        self.open.borrow_mut().push(question.clone());
        Open {
            depth: self.open.borrow().len() - 1,
            outer: self.assumes.replace(usize::MAX),
            provisional: self.provisional.borrow().len(),
        }
    }

    pub(super) fn yes(&self, open: &Open, found: Vec<Found>) {
        let Some(question) = self.open.borrow_mut().pop() else { return };
        let mut kept: Vec<Found> = Vec::new();
        for next in found {
            if kept.iter().filter(|known| known.kind == next.kind).count() < MAX_REPEATED {
                kept.push(next);
            }
        }
        let mut provisional = self.provisional.borrow_mut();
        let mut assumes = self.assumes.get();
        if assumes >= open.depth {
            // Nothing is assumed any more but what was just answered.
            for settled in provisional.drain(open.provisional..) {
                if let Some(yes) = self.yes.borrow_mut().get_mut(&settled) {
                    yes.assumes = usize::MAX;
                }
            }
            assumes = usize::MAX;
        } else {
            provisional.push(question.clone());
        }
        self.yes.borrow_mut().insert(question, Yes { found: kept.into(), assumes, noted: 0 });
        self.assumes.set(open.outer.min(assumes));
    }

    /// `is_final` says whether the answer is no wherever the question is asked.
    pub(super) fn no(&self, open: &Open, is_final: bool, is_trial: bool) {
        let Some(question) = self.open.borrow_mut().pop() else { return };
        for dropped in self.provisional.borrow_mut().drain(open.provisional..) {
            self.yes.borrow_mut().remove(&dropped);
        }
        if is_final {
            *self.no.borrow_mut().entry(question).or_default() += usize::from(!is_trial);
        }
        self.assumes.set(open.outer);
    }
}
