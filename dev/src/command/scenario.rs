//! The payments of the demonstration and what must be true at their end.
//!
//! A scenario uses a payment method of its own, so that its charges can be counted in the
//! sandbox's truth whatever else happened there before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use dev::http::{self, Answer};
use dev::keys::Keys;
use dev::stack::Addresses;
use serde::Serialize;
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(100);
const MERCHANT: &str = "demo";
const OPERATOR: &str = "alice";

/// One payment and its expected end.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub name: &'static str,
    story: &'static str,
    account: &'static str,
    /// The beginning of the payment method; `pm_decline…` is declined by the sandbox.
    method: &'static str,
    twist: Twist,
    ends: Ends,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Twist {
    Nothing,
    /// The channel charges, but its answer never arrives.
    AnswerLost,
    /// The same, and the channel cannot be asked: a person must decide.
    AnswerLostForGood,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    payment: &'static str,
    order: &'static str,
    charges: usize,
}

const PAID: Ends = Ends { payment: "Persisted", order: "Fulfilled", charges: 1 };
const DECLINED: Ends = Ends { payment: "Failed", order: "AwaitingPayment", charges: 0 };

pub const SCENARIOS: [Scenario; 4] = [
    Scenario {
        name: "paid_and_fulfilled",
        story: "the channel charges and answers",
        account: "main",
        method: "pm_ok",
        twist: Twist::Nothing,
        ends: PAID,
    },
    Scenario {
        name: "declined",
        story: "the channel refuses; the order waits for another payment",
        account: "main",
        method: "pm_decline_funds",
        twist: Twist::Nothing,
        ends: DECLINED,
    },
    Scenario {
        name: "answer_lost_then_found",
        story: "the channel charges, its answer is lost, a lookup finds the charge",
        account: "lookup-only",
        method: "pm_lost",
        twist: Twist::AnswerLost,
        ends: PAID,
    },
    Scenario {
        name: "person_decides",
        story: "the answer is lost and the channel cannot be asked; a person decides",
        account: "blind",
        method: "pm_blind",
        twist: Twist::AnswerLostForGood,
        ends: PAID,
    },
];

impl Scenario {
    /// What is wrong with this end.
    pub fn problem(&self, outcome: &Outcome) -> Option<String> {
        let Ends { payment, order, charges } = self.ends;
        let right =
            outcome.state == payment && outcome.order_state == order && outcome.charges == charges;
        (!right).then(|| {
            format!(
                "{}: expected payment {payment}, order {order}, {}; \
                 got payment {}, order {}, {}",
                self.name,
                counted(charges),
                outcome.state,
                outcome.order_state,
                counted(outcome.charges)
            )
        })
    }
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
}

/// A payment as the API last showed it.
struct Seen {
    id: String,
    workflow_id: String,
    state: String,
    review: Option<String>,
}

/// A customer and an operator of the demonstration.
pub struct Shop {
    addresses: Addresses,
    keys: Keys,
    /// Makes keys and payment methods of this run different from those of all others.
    run: String,
    /// Set by Ctrl-C.
    stop: Arc<AtomicBool>,
}

impl Shop {
    pub fn new(addresses: Addresses, keys: Keys, stop: Arc<AtomicBool>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { addresses, keys, run: format!("{:x}", now.as_millis()), stop }
    }

    /// Waits a little between two looks, unless somebody wants to leave.
    fn look_again(&self) -> Result<()> {
        self.go_on()?;
        thread::sleep(POLL);
        self.go_on()
    }

    fn go_on(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        Ok(())
    }

    /// Plays one scenario to its end, whichever that is.
    pub fn play(&self, scenario: Scenario) -> Result<Outcome> {
        self.go_on()?;
        println!("{}: {}", scenario.name, scenario.story);
        let method = format!("{}_{}", scenario.method, self.run);
        if scenario.twist != Twist::Nothing {
            self.lose_answer(&method)?;
        }
        let order = self.order(scenario.name)?;
        let mut seen = self.pay(scenario, &order, &method)?;
        if scenario.twist == Twist::AnswerLostForGood {
            seen = self.settled(seen, "ManualReview")?;
            self.decide(&seen, &method)?;
        }
        let seen = self.settled(seen, scenario.ends.payment)?;
        let order_state = self.order_state(&order, scenario.ends.order)?;
        let charges = self.charges(&method)?.len();
        println!("  order {order_state}, {} at the channel", counted(charges));
        Ok(Outcome {
            scenario: scenario.name.to_owned(),
            state: seen.state,
            workflow_id: seen.workflow_id,
            payment: seen.id,
            order,
            order_state,
            charges,
        })
    }

    fn lose_answer(&self, method: &str) -> Result<()> {
        let fault = json!({
            "match": { "payment_method": method },
            "operation": "charge",
            "times": 1,
            "fault": { "kind": "timeout_after_commit" },
        });
        let url = format!("{}/admin/faults", self.addresses.sandbox);
        expect(&[200, 201, 204], "set a fault", &http::post(&url, &[], &fault)?)
    }

    fn order(&self, scenario: &str) -> Result<String> {
        let body = json!({ "merchant": MERCHANT, "items": [{ "sku": "tea", "quantity": 1 }] });
        let key = format!("order-{scenario}-{}", self.run);
        let url = format!("{}/v1/orders", self.addresses.http);
        let answer = http::post(&url, &[("Idempotency-Key", &key)], &body)?;
        expect(&[200, 201], "create an order", &answer)?;
        text(&answer.json()?, "id")
    }

    fn pay(&self, scenario: Scenario, order: &str, method: &str) -> Result<Seen> {
        let order_page =
            http::get(&format!("{}/v1/orders/{order}", self.addresses.http))?.json()?;
        let body = json!({
            "merchant": MERCHANT,
            "order": order,
            "amount": order_page["payable"]["amount"],
            "currency": order_page["payable"]["currency"],
            "channel": "sandbox",
            "account": scenario.account,
            "payment_method": method,
        });
        let key = format!("{}-{}", scenario.name, self.run);
        let url = format!("{}/v1/payment_intents", self.addresses.http);
        let answer = http::post(&url, &[("Idempotency-Key", &key)], &body)?;
        expect(&[200, 202], "pay", &answer)?;
        let seen = Seen::read(&answer.json()?)?;
        println!("  {} {}", seen.id, seen.state);
        Ok(seen)
    }

    /// Follows a payment until it is in this state, or in one that it never leaves by itself.
    fn settled(&self, mut seen: Seen, wanted: &str) -> Result<Seen> {
        let url = format!("{}/v1/payment_intents/{}", self.addresses.http, seen.id);
        let deadline = Instant::now() + LIMIT;
        while seen.state != wanted && seen.state != "Persisted" && seen.state != "Failed" {
            if Instant::now() >= deadline {
                bail!("{} is still {} and not {wanted} after {LIMIT:?}", seen.id, seen.state);
            }
            self.look_again()?;
            let answer = http::get(&url)?;
            expect(&[200, 202], "read a payment", &answer)?;
            let now = Seen::read(&answer.json()?)?;
            if now.state != seen.state {
                println!("  {} {}", now.id, now.state);
            }
            seen = now;
        }
        Ok(seen)
    }

    /// What an operator does: look at the channel's own books, then say what they show.
    fn decide(&self, seen: &Seen, method: &str) -> Result<()> {
        let review = seen.review.as_deref();
        let review =
            review.with_context(|| format!("{} is {} but has no review", seen.id, seen.state))?;
        let url = format!("{}/v1/reviews/{review}", self.addresses.http);
        let token = self.keys.operators.get(OPERATOR).context("the keys have no operator")?;
        let bearer = format!("Bearer {token}");
        let page = http::get_with(&url, &[("Authorization", &bearer)])?;
        expect(&[200], "read a review", &page)?;
        let version = page.json()?["version"].clone();
        let charges = self.charges(method)?;
        let evidence = format!("the channel's books show {}", counted(charges.len()));
        let choice = match charges.first() {
            Some(charge) => json!({
                "kind": "confirm_paid",
                "transaction": charge["transaction"],
                "amount": charge["amount"],
                "currency": charge["currency"],
                "evidence": evidence,
            }),
            None => json!({ "kind": "confirm_not_paid", "evidence": evidence }),
        };
        println!("  {OPERATOR} decides {review}: {}", choice["kind"]);
        let body = json!({ "version": version, "choice": choice, "reason": "read in the books" });
        let key = format!("decision-{review}");
        let headers = [("Idempotency-Key", key.as_str()), ("Authorization", bearer.as_str())];
        let answer = http::post(&format!("{url}/decisions"), &headers, &body)?;
        expect(&[200, 201, 202], "decide a review", &answer)
    }

    fn order_state(&self, order: &str, wanted: &str) -> Result<String> {
        let url = format!("{}/v1/orders/{order}", self.addresses.http);
        let deadline = Instant::now() + LIMIT;
        loop {
            let state = text(&http::get(&url)?.json()?, "state")?;
            if state == wanted || Instant::now() >= deadline {
                return Ok(state);
            }
            self.look_again()?;
        }
    }

    /// What the sandbox has really charged with this payment method.
    fn charges(&self, method: &str) -> Result<Vec<Value>> {
        let truth = http::get(&format!("{}/truth", self.addresses.sandbox))?.json()?;
        let charges = truth["charges"].as_array().context("the truth has no charges")?;
        let own = charges.iter().filter(|charge| charge["payment_method"] == method);
        Ok(own.cloned().collect())
    }
}

impl Seen {
    fn read(page: &Value) -> Result<Self> {
        Ok(Self {
            id: text(page, "id")?,
            workflow_id: text(page, "workflow_id")?,
            state: text(page, "state")?,
            review: page["review"].as_str().map(str::to_owned),
        })
    }
}

/// `1 charge`, `2 charges`.
fn counted(charges: usize) -> String {
    if charges == 1 { "1 charge".to_owned() } else { format!("{charges} charges") }
}

fn text(page: &Value, field: &str) -> Result<String> {
    let value = page[field].as_str().with_context(|| format!("no {field} in {page}"))?;
    Ok(value.to_owned())
}

fn expect(statuses: &[u16], doing: &str, answer: &Answer) -> Result<()> {
    if statuses.contains(&answer.status) {
        return Ok(());
    }
    bail!("{doing}: status {} says {}", answer.status, answer.body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_payment_without_a_state_is_an_error_that_shows_the_answer() {
        let page = json!({ "id": "pay_1", "workflow_id": "payment/demo/k", "review": null });
        let error = Seen::read(&page).err().unwrap().to_string();
        assert!(error.contains("no state") && error.contains("pay_1"), "{error}");
    }

    #[test]
    fn a_demonstration_that_is_interrupted_asks_nothing_more() {
        let keys = Keys { decision_key: String::new(), operators: BTreeMap::new() };
        let interrupted = Arc::new(AtomicBool::new(true));
        // Addresses of nothing: any request would be another error.
        let shop = Shop::new(Addresses::default(), keys, interrupted);
        let error = shop.play(SCENARIOS[0]).err().unwrap().to_string();
        assert_eq!(error, "interrupted");
    }

    #[test]
    fn an_end_with_a_second_charge_is_a_problem() {
        let mut outcome = Outcome {
            scenario: SCENARIOS[0].name.to_owned(),
            state: "Persisted".to_owned(),
            workflow_id: String::new(),
            payment: String::new(),
            order: String::new(),
            order_state: "Fulfilled".to_owned(),
            charges: 1,
        };
        assert_eq!(SCENARIOS[0].problem(&outcome), None);
        outcome.charges = 2;
        let problem = SCENARIOS[0].problem(&outcome).unwrap();
        assert!(problem.ends_with("order Fulfilled, 2 charges"), "{problem}");
    }

    #[test]
    fn every_scenario_says_how_it_ends() {
        for scenario in SCENARIOS {
            let paid = scenario.ends.payment == "Persisted";
            assert_eq!(paid, scenario.ends.charges == 1, "{}", scenario.name);
        }
    }
}
