// SPDX-License-Identifier: Apache-2.0
use std::fmt;

use crate::{text, Status, StepResult, TicketId};

/// What went wrong: the status, and the library's text with the argument, its value and the remedy.
#[derive(Clone, Debug)]
pub struct Error {
    status: Status,
    text: String,
    result: Option<Box<StepResult>>,
    ticket: Option<TicketId>,
}

/// The result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(status: Status, text: String) -> Error {
        Error { status, text, result: None, ticket: None }
    }

    /// An error of a call that has no context: the library keeps its text for this thread.
    pub(crate) fn without_context(status: Status) -> Error {
        Error::new(status, text::last_error(std::ptr::null_mut()))
    }

    pub(crate) fn with_result(mut self, result: StepResult) -> Error {
        self.result = Some(Box::new(result));
        self
    }

    pub(crate) fn with_ticket(mut self, ticket: TicketId) -> Error {
        self.ticket = Some(ticket);
        self
    }

    /// Which error it is.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The argument, its value and the remedy, in words.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is known of the step that a wait failed for: its counts, and who failed.
    pub fn result(&self) -> Option<&StepResult> {
        self.result.as_deref()
    }

    /// The ticket that a failed reduce gave all the same. It has failed, and the ranks go on with the next step.
    pub fn ticket(&self) -> Option<TicketId> {
        self.ticket
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status.name(), self.text)
    }
}

impl std::error::Error for Error {}
