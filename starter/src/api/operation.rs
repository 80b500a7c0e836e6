//! What an endpoint promises: one constant in each endpoint's file. The router, the API's document
//! and the check of every answer are made from it.

use super::code::Code;
use axum::http::Method;
use axum::routing::MethodFilter;

/// One method of one path.
pub(crate) struct Operation {
    pub verb: Verb,
    pub path: &'static str,
    /// The name for programs that are generated from the document.
    pub id: &'static str,
    pub summary: &'static str,
    /// What a caller must know besides.
    pub about: &'static str,
    pub caller: Caller,
    pub query: &'static [Param],
    pub body: Option<Body>,
    pub answers: &'static [Good],
    /// Besides those that come with what the operation has, see [`Operation::problems`].
    pub problems: &'static [Code],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
}

/// Who may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Anyone,
    /// An operator's token makes them the one who asked.
    AnyoneOrOperator,
    Operator,
}

/// A parameter of the query. None is required.
pub(crate) struct Param {
    pub name: &'static str,
    /// The name of its schema.
    pub schema: &'static str,
    pub about: &'static str,
}

/// A JSON body. Every operation with a body has an idempotency key.
pub(crate) struct Body {
    /// The name of its schema.
    pub schema: &'static str,
    /// The name of the idempotency key's schema.
    pub key: &'static str,
}

/// An answer that is no problem.
pub(crate) struct Good {
    pub status: u16,
    pub content: Content,
    pub when: &'static str,
}

pub(crate) enum Content {
    /// JSON, by the name of its schema.
    Json(&'static str),
    Html,
}

/// A JSON answer.
pub(super) const fn gives(status: u16, schema: &'static str, when: &'static str) -> Good {
    Good { status, content: Content::Json(schema), when }
}

impl Verb {
    pub(super) fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
        }
    }

    /// The field of a path item.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
        }
    }

    /// A HEAD is answered like a GET.
    fn takes(self, method: &Method) -> bool {
        match self {
            Self::Get => method == Method::GET || method == Method::HEAD,
            Self::Post => method == Method::POST,
        }
    }
}

impl Operation {
    pub(super) fn is(&self, method: &Method, path: &str) -> bool {
        self.verb.takes(method) && self.path == path
    }

    /// Every problem that it may answer, in the order of the table.
    pub(crate) fn problems(&self) -> Vec<Code> {
        let mut codes = self.problems.to_vec();
        codes.extend([
            Code::InvalidInput,
            Code::PathTooLong,
            Code::HeadersTooLarge,
            Code::InternalError,
        ]);
        if self.body.is_some() {
            codes.extend([
                Code::MalformedJson,
                Code::IdempotencyKeyMissing,
                Code::RequestTimeout,
                Code::BodyTooLarge,
                Code::UnsupportedMediaType,
            ]);
        }
        if self.caller != Caller::Anyone {
            codes.extend([Code::Unauthenticated, Code::DatabaseUnavailable]);
        }
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    /// Whether an answer is one of those that are promised.
    pub(super) fn promises(&self, status: u16, problem: Option<Code>) -> bool {
        match problem {
            Some(code) => code.row().status == status && self.problems().contains(&code),
            None => self.answers.iter().any(|answer| answer.status == status),
        }
    }
}
