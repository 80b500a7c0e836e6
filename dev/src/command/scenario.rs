//! The payments of the demonstration and what must be true at their end.
//!
//! A scenario uses a payment method of its own, so that its charges can be counted in the
//! sandbox's truth whatever else happened there before.

use serde::Serialize;

/// One payment and its expected end.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub name: &'static str,
    pub story: &'static str,
    pub account: &'static str,
    /// The beginning of the payment method; the sandbox decides by it.
    pub method: &'static str,
    /// Pieces of tea: two people must decide about many.
    pub pieces: u32,
    /// What goes wrong: an operation at the sandbox and the kind of its next fault.
    pub faults: &'static [(&'static str, &'static str)],
    /// What people do after the payment was started.
    pub steps: &'static [Step],
    pub ends: Ends,
}

/// What somebody does, or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The payment comes into a state.
    Becomes(&'static str),
    /// The payer pays what they were shown.
    PayerPays,
    /// Money moves although the channel had said no.
    PayerPaysAnyway,
    /// The order is paid by another payment.
    AnotherPaymentPays,
    /// An operator wakes the payment's workflow.
    Resume,
    /// An operator reads the channel's books and says what they show.
    Decide(&'static str),
}

/// How it must end.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    pub payment: &'static str,
    pub order: &'static str,
    /// All charges for the order, also those of another payment.
    pub charges: usize,
    /// The question that stays open.
    pub review: Option<&'static str>,
}

const PAID: Ends = Ends { payment: "Persisted", order: "Fulfilled", charges: 1, review: None };
const FREE: Ends = Ends { payment: "Failed", order: "AwaitingPayment", charges: 0, review: None };

/// A payment of one piece at the main account, without any trouble.
const PLAIN: Scenario = Scenario {
    name: "paid_and_fulfilled",
    story: "the channel charges and answers",
    account: "main",
    method: "pm_ok",
    pieces: 1,
    faults: &[],
    steps: &[],
    ends: PAID,
};

pub const SCENARIOS: [Scenario; 11] = [
    PLAIN,
    Scenario {
        name: "declined",
        story: "the channel refuses; the order waits for another payment",
        method: "pm_decline_funds",
        ends: FREE,
        ..PLAIN
    },
    Scenario {
        name: "answer_lost_then_found",
        story: "the channel charges, its answer is lost, a lookup finds the charge",
        account: "lookup-only",
        method: "pm_lost",
        faults: &[("charge", "timeout_after_commit")],
        ..PLAIN
    },
    Scenario {
        name: "request_lost_then_sent_again",
        story: "the request is lost; proved so by a lookup, it is sent again with a permit",
        account: "lookup-only",
        method: "pm_gone",
        faults: &[("charge", "timeout_before_commit")],
        ..PLAIN
    },
    Scenario {
        name: "payer_acts",
        story: "the payer must act, and does; a lookup finds it",
        method: "pm_action",
        steps: &[Step::Becomes("AwaitingPayer"), Step::PayerPays],
        ..PLAIN
    },
    Scenario {
        name: "open_after_lost_answer",
        story: "how to pay was never told: sent again, the channel tells it again",
        method: "pm_action_lost",
        faults: &[("charge", "timeout_after_commit")],
        steps: &[Step::Becomes("AwaitingPayer"), Step::PayerPays],
        ..PLAIN
    },
    Scenario {
        name: "refused_and_still_payable",
        story: "refused, and it could still be paid: closed at the channel before it is a decline",
        method: "pm_poor",
        faults: &[("charge", "stays_payable")],
        ends: FREE,
        ..PLAIN
    },
    Scenario {
        name: "person_decides",
        story: "the answer is lost and the channel cannot be asked; a person decides",
        account: "blind",
        method: "pm_blind",
        faults: &[("charge", "timeout_after_commit")],
        steps: &[Step::Becomes("ManualReview"), Step::Decide("alice")],
        ..PLAIN
    },
    Scenario {
        name: "two_people_decide",
        story: "the same above the limit: two people must choose the same",
        account: "blind",
        method: "pm_large",
        pieces: 60,
        faults: &[("charge", "timeout_after_commit")],
        steps: &[Step::Becomes("ManualReview"), Step::Decide("alice"), Step::Decide("bob")],
        ..PLAIN
    },
    Scenario {
        name: "late_surplus",
        story: "declined, paid by another payment, then money comes: kept, and asked about",
        method: "pm_decline_late",
        steps: &[
            Step::Becomes("Failed"),
            Step::AnotherPaymentPays,
            Step::PayerPaysAnyway,
            Step::Resume,
        ],
        ends: Ends { charges: 2, review: Some("surplus_money"), ..PAID },
        ..PLAIN
    },
    Scenario {
        name: "goods_refused",
        story: "paid, and the merchant says no for good: the money is kept, a person is asked",
        method: "pm_sold_out",
        faults: &[("fulfil", "refused")],
        ends: Ends { order: "Paid", review: Some("fulfilment_refused"), ..PAID },
        ..PLAIN
    },
];

impl Scenario {
    /// What is wrong with this end.
    pub fn problem(&self, outcome: &Outcome) -> Option<String> {
        let Ends { payment, order, charges, review } = self.ends;
        let right = outcome.state == payment
            && outcome.order_state == order
            && outcome.charges == charges
            && outcome.review.as_deref() == review;
        (!right).then(|| {
            format!(
                "{}: expected payment {payment}, order {order}, {}, open question {}; \
                 got payment {}, order {}, {}, open question {}",
                self.name,
                counted(charges),
                review.unwrap_or("none"),
                outcome.state,
                outcome.order_state,
                counted(outcome.charges),
                outcome.review.as_deref().unwrap_or("none"),
            )
        })
    }
}

/// `1 charge`, `2 charges`.
pub fn counted(charges: usize) -> String {
    if charges == 1 { "1 charge".to_owned() } else { format!("{charges} charges") }
}

/// What `--json` writes for each scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub scenario: String,
    pub state: String,
    pub workflow_id: String,
    pub payment: String,
    pub order: String,
    pub order_state: String,
    pub charges: usize,
    /// Why a review of the payment is open at the end.
    pub review: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome() -> Outcome {
        Outcome {
            scenario: SCENARIOS[0].name.to_owned(),
            state: "Persisted".to_owned(),
            workflow_id: String::new(),
            payment: String::new(),
            order: String::new(),
            order_state: "Fulfilled".to_owned(),
            charges: 1,
            review: None,
        }
    }

    #[test]
    fn an_end_with_a_second_charge_is_a_problem() {
        assert_eq!(SCENARIOS[0].problem(&outcome()), None);
        let twice = Outcome { charges: 2, ..outcome() };
        let problem = SCENARIOS[0].problem(&twice).unwrap();
        assert!(problem.ends_with("2 charges, open question none"), "{problem}");
    }

    #[test]
    fn a_question_that_nobody_expected_is_a_problem() {
        let asked = Outcome { review: Some("late_money".to_owned()), ..outcome() };
        assert!(SCENARIOS[0].problem(&asked).unwrap().contains("late_money"));
    }

    #[test]
    fn every_scenario_says_how_it_ends() {
        for scenario in SCENARIOS {
            let paid = scenario.ends.payment == "Persisted";
            let others = scenario.steps.contains(&Step::AnotherPaymentPays);
            let charges = usize::from(paid) + usize::from(others);
            assert_eq!(scenario.ends.charges, charges, "{}", scenario.name);
        }
    }
}
