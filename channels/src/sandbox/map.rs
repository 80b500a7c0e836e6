//! The only place where the sandbox's statuses and errors become ours. What has no line here is
//! unknown; what is not signed is unknown; and unknown is never a failure.

use super::sign::Signer;
use super::wire::{ChargeObject, ErrorBody};
use crate::http::Answer;
use domain::channel::{ChargeAnswer, CloseAnswer, LookupAnswer};
use domain::{
    Capabilities, ChannelReference, ChannelTransactionId, Currency, DeclineClass, Money,
    NotExecutedProof, PayerAction, UnixMillis, UnknownReason,
};

/// Longest address that a payer is sent to, in bytes.
const MAX_URL_LEN: usize = 2_048;

/// A verified answer, read.
enum Read {
    Charge(ChargeObject),
    Error(ErrorBody),
}

/// What a charge object says, in our words.
enum Said {
    Succeeded {
        transaction: ChannelTransactionId,
        amount: Money,
    },
    Declined {
        class: DeclineClass,
        code: String,
    },
    /// The payer may pay. With a decline, the channel refused the charge and left it payable.
    Open {
        action: Option<PayerAction>,
        decline: Option<(DeclineClass, String)>,
    },
    Closed,
}

/// What the answer to a charge asks of us.
#[derive(Debug)]
pub(super) enum Charged {
    Answer(ChargeAnswer),
    /// No decline as it stands: the payer may still pay what was refused. It is closed first.
    RefusedAndPayable {
        class: DeclineClass,
        code: String,
    },
}

pub(super) fn charge(
    signer: &Signer,
    answer: &Answer,
    nonce: &str,
    reference: &ChannelReference,
    pay_before: UnixMillis,
) -> Charged {
    let unknown = |why| Charged::Answer(ChargeAnswer::Unknown { why });
    let object = match read(signer, answer, nonce) {
        Err(why) => return unknown(why),
        Ok(Read::Error(error)) if error.executed == Some(false) => {
            let proof = NotExecutedProof::ChannelSaidSo;
            return Charged::Answer(ChargeAnswer::NotExecuted { proof });
        }
        Ok(Read::Error(error)) if error.error == "reference_known" => {
            return unknown(UnknownReason::ReferenceKnown);
        }
        Ok(Read::Error(_)) => return unknown(UnknownReason::ChannelError),
        Ok(Read::Charge(object)) => object,
    };
    Charged::Answer(match said(&object, reference) {
        Err(why) => ChargeAnswer::Unknown { why },
        Ok(Said::Succeeded { transaction, amount }) => {
            ChargeAnswer::Succeeded { transaction, amount }
        }
        Ok(Said::Declined { class, code }) => ChargeAnswer::Declined { class, code },
        Ok(Said::Open { action: Some(action), decline: _ }) => {
            ChargeAnswer::AwaitingPayer { action, pay_before }
        }
        Ok(Said::Open { action: None, decline: Some((class, code)) }) => {
            return Charged::RefusedAndPayable { class, code };
        }
        Ok(Said::Open { action: None, decline: None }) => {
            ChargeAnswer::Unknown { why: UnknownReason::Unreadable }
        }
        // The reference was closed before: it can never take money.
        Ok(Said::Closed) => ChargeAnswer::Declined {
            class: DeclineClass::MayPayAgain,
            code: "reference_closed".to_owned(),
        },
    })
}

/// A refusal that left the charge payable, once the account was asked to close it, if it can. Only
/// the channel's word that it is closed makes it a decline.
pub(super) fn refused_and_payable(
    class: DeclineClass,
    code: String,
    closed: Option<CloseAnswer>,
) -> ChargeAnswer {
    match closed {
        Some(CloseAnswer::Closed) => ChargeAnswer::Declined { class, code },
        Some(CloseAnswer::Succeeded { transaction, amount }) => {
            ChargeAnswer::Succeeded { transaction, amount }
        }
        Some(CloseAnswer::Unknown { why }) => ChargeAnswer::Unknown { why },
        None => ChargeAnswer::Unknown { why: UnknownReason::StillPayable },
    }
}

/// A payer is not waited for where nothing could ever tell us that they paid: a person is asked.
pub(super) fn observable(answer: ChargeAnswer, capabilities: &Capabilities) -> ChargeAnswer {
    let Capabilities { idempotent_for, lookup, close, .. } = capabilities;
    let blind = lookup.is_none() && !close && idempotent_for.is_none();
    match answer {
        ChargeAnswer::AwaitingPayer { .. } if blind => {
            ChargeAnswer::Unknown { why: UnknownReason::NotObservable }
        }
        answer => answer,
    }
}

pub(super) fn lookup(
    signer: &Signer,
    answer: &Answer,
    nonce: &str,
    reference: &ChannelReference,
) -> LookupAnswer {
    let unknown = |why| LookupAnswer::Unknown { why };
    let object = match read(signer, answer, nonce) {
        Err(why) => return unknown(why),
        Ok(Read::Error(error)) if answer.status == 404 && error.error == "not_found" => {
            return LookupAnswer::NotFound;
        }
        Ok(Read::Error(_)) => return unknown(UnknownReason::ChannelError),
        Ok(Read::Charge(object)) => object,
    };
    match said(&object, reference) {
        Err(why) => unknown(why),
        Ok(Said::Succeeded { transaction, amount }) => {
            LookupAnswer::Succeeded { transaction, amount }
        }
        Ok(Said::Declined { class, code }) => LookupAnswer::Failed { class, code },
        Ok(Said::Open { action, decline: _ }) => LookupAnswer::Open { action, pay_before: None },
        Ok(Said::Closed) => LookupAnswer::Closed,
    }
}

pub(super) fn close(
    signer: &Signer,
    answer: &Answer,
    nonce: &str,
    reference: &ChannelReference,
) -> CloseAnswer {
    let unknown = |why| CloseAnswer::Unknown { why };
    let object = match read(signer, answer, nonce) {
        Err(why) => return unknown(why),
        Ok(Read::Charge(object)) => object,
        Ok(Read::Error(error)) => match (error.error.as_str(), error.charge) {
            ("already_succeeded", Some(object)) => object,
            _ => return unknown(UnknownReason::ChannelError),
        },
    };
    match said(&object, reference) {
        Ok(Said::Succeeded { transaction, amount }) => {
            CloseAnswer::Succeeded { transaction, amount }
        }
        Ok(Said::Closed) => CloseAnswer::Closed,
        Ok(Said::Declined { .. } | Said::Open { .. }) => unknown(UnknownReason::Unreadable),
        Err(why) => unknown(why),
    }
}

/// Verifies before it reads. A 5xx without a signature is the channel's infrastructure speaking.
fn read(signer: &Signer, answer: &Answer, nonce: &str) -> Result<Read, UnknownReason> {
    let status = answer.status.as_u16();
    if !signer.verify(status, &answer.headers, nonce, &answer.body) {
        let infrastructure = answer.status.is_server_error();
        let why =
            if infrastructure { UnknownReason::ChannelError } else { UnknownReason::BadSignature };
        return Err(why);
    }
    let unreadable = |_| UnknownReason::Unreadable;
    if answer.status.is_success() {
        serde_json::from_slice(&answer.body).map(Read::Charge).map_err(unreadable)
    } else {
        serde_json::from_slice(&answer.body).map(Read::Error).map_err(unreadable)
    }
}

fn said(object: &ChargeObject, reference: &ChannelReference) -> Result<Said, UnknownReason> {
    let unreadable = UnknownReason::Unreadable;
    if object.reference != reference.as_str() {
        return Err(unreadable);
    }
    match object.status.as_str() {
        "succeeded" => {
            let transaction = object.transaction.clone().ok_or(unreadable)?;
            let currency = Currency::parse(&object.currency).map_err(|_| unreadable)?;
            Ok(Said::Succeeded {
                transaction: ChannelTransactionId::parse(transaction).map_err(|_| unreadable)?,
                amount: Money::new(object.amount, currency).map_err(|_| unreadable)?,
            })
        }
        "declined" => {
            let (class, code) = decline(object);
            Ok(Said::Declined { class, code })
        }
        "open" => Ok(Said::Open {
            action: object.action.as_ref().and_then(payer_action),
            decline: object.decline_code.as_ref().map(|_| decline(object)),
        }),
        "closed" => Ok(Said::Closed),
        _ => Err(unreadable),
    }
}

fn decline(object: &ChargeObject) -> (DeclineClass, String) {
    let class = match object.decline_final {
        Some(true) => DeclineClass::Final,
        Some(false) | None => DeclineClass::MayPayAgain,
    };
    (class, object.decline_code.as_deref().map_or_else(String::new, word))
}

fn payer_action(action: &super::wire::Action) -> Option<PayerAction> {
    let url = action.url.as_deref().filter(|_| action.kind == "redirect")?;
    let plain = url.len() <= MAX_URL_LEN && url.bytes().all(|byte| byte.is_ascii_graphic());
    let web = url.starts_with("https://") || url.starts_with("http://");
    (plain && web).then(|| PayerAction::Redirect { url: url.to_owned() })
}

/// A channel's code, kept to what a code is made of: never its free text.
fn word(code: &str) -> String {
    code.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect()
}
