//! A customer, an operator and a payer of the demonstration, who speak HTTP only.

use super::scenario::{Outcome, Scenario, Step, counted};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use dev::http::{self, Answer};
use dev::keys::Keys;
use dev::stack::Addresses;
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(100);
const MERCHANT: &str = "demo";
/// Who wakes payments.
const OPERATOR: &str = "alice";

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
        let order = self.order(scenario)?;
        for (operation, kind) in scenario.faults {
            let matching = match *operation {
                "fulfil" => json!({ "order": order }),
                _ => json!({ "payment_method": method }),
            };
            self.plan(operation, &matching, kind)?;
        }
        let mut seen = self.pay(scenario.name, scenario.account, &order, &method)?;
        for step in scenario.steps {
            seen = self.step(*step, seen, scenario, &order, &method)?;
        }
        let seen = self.settled(seen, scenario.ends.payment)?;
        let order_state = self.order_state(&order, scenario.ends.order)?;
        let charges = self.charges(&method)?.len();
        let review = self.open_question(&seen, scenario.ends.review)?;
        println!("  order {order_state}, {} of this payment at the channel", counted(charges));
        if let Some(reason) = &review {
            println!("  a person is asked: {reason}");
        }
        Ok(Outcome {
            scenario: scenario.name.to_owned(),
            state: seen.state,
            workflow_id: seen.workflow_id,
            payment: seen.id,
            order,
            order_state,
            charges,
            review,
        })
    }

    fn step(
        &self,
        step: Step,
        seen: Seen,
        scenario: Scenario,
        order: &str,
        method: &str,
    ) -> Result<Seen> {
        match step {
            Step::Becomes(state) => return self.settled(seen, state),
            Step::PayerPays => self.payer_pays(scenario.account, method, "")?,
            Step::PayerPaysAnyway => self.payer_pays(scenario.account, method, "?force=true")?,
            Step::AnotherPaymentPays => {
                let name = format!("{}-again", scenario.name);
                let other = self.pay(&name, "main", order, &format!("pm_other_{}", self.run))?;
                self.settled(other, "Persisted")?;
            }
            Step::Resume => {
                let url = format!("{}/v1/payment_intents/{}/resume", self.addresses.http, seen.id);
                let bearer = self.bearer(OPERATOR)?;
                let answer = http::post(&url, &[("Authorization", &bearer)], &json!({}))?;
                expect(&[202], "resume a payment", &answer)?;
                println!("  {OPERATOR} resumes {}", seen.id);
                return self.left(&seen);
            }
            Step::Decide(operator) => self.decide(&seen, method, operator)?,
        }
        Ok(seen)
    }

    fn plan(&self, operation: &str, matching: &Value, kind: &str) -> Result<()> {
        let fault = json!({
            "match": matching, "operation": operation, "times": 1, "fault": { "kind": kind },
        });
        let url = format!("{}/admin/faults", self.addresses.sandbox);
        expect(&[200, 201, 204], "set a fault", &http::post(&url, &[], &fault)?)
    }

    fn payer_pays(&self, account: &str, method: &str, how: &str) -> Result<()> {
        let truth = http::get(&format!("{}/truth", self.addresses.sandbox))?.json()?;
        let objects = truth["objects"].as_array().context("the truth has no objects")?;
        let object = objects.iter().find(|object| object["payment_method"] == method);
        let reference = text(object.context("the channel has no such charge")?, "reference")?;
        let url = format!("{}/admin/pay/{account}/{reference}{how}", self.addresses.sandbox);
        println!("  the payer pays");
        expect(&[200], "pay at the channel", &http::post(&url, &[], &json!(null))?)
    }

    fn bearer(&self, operator: &str) -> Result<String> {
        let token = self.keys.operators.get(operator).context("the keys have no such operator")?;
        Ok(format!("Bearer {token}"))
    }

    /// Why the payment's review is open; waits for one where one is expected.
    fn open_question(&self, seen: &Seen, wanted: Option<&str>) -> Result<Option<String>> {
        let deadline = Instant::now() + LIMIT;
        loop {
            let url = format!("{}/v1/reviews?payment={}", self.addresses.http, seen.id);
            let page = http::get(&url)?.json()?;
            let reason = page["data"][0]["reason"].as_str().map(str::to_owned);
            if reason.as_deref() == wanted || Instant::now() >= deadline {
                return Ok(reason);
            }
            self.look_again()?;
        }
    }

    /// Follows a payment until it is no longer in the state that it is in.
    fn left(&self, seen: &Seen) -> Result<Seen> {
        let url = format!("{}/v1/payment_intents/{}", self.addresses.http, seen.id);
        let deadline = Instant::now() + LIMIT;
        loop {
            let now = Seen::read(&http::get(&url)?.json()?)?;
            if now.state != seen.state {
                println!("  {} {}", now.id, now.state);
                return Ok(now);
            }
            if Instant::now() >= deadline {
                bail!("{} is still {} after {LIMIT:?}", seen.id, seen.state);
            }
            self.look_again()?;
        }
    }

    fn order(&self, scenario: Scenario) -> Result<String> {
        let items = json!([{ "sku": "tea", "quantity": scenario.pieces }]);
        let body = json!({ "merchant": MERCHANT, "items": items });
        let key = format!("order-{}-{}", scenario.name, self.run);
        let url = format!("{}/v1/orders", self.addresses.http);
        let answer = http::post(&url, &[("Idempotency-Key", &key)], &body)?;
        expect(&[200, 201], "create an order", &answer)?;
        text(&answer.json()?, "id")
    }

    fn pay(&self, name: &str, account: &str, order: &str, method: &str) -> Result<Seen> {
        let order_page =
            http::get(&format!("{}/v1/orders/{order}", self.addresses.http))?.json()?;
        let body = json!({
            "merchant": MERCHANT,
            "order": order,
            "amount": order_page["payable"]["amount"],
            "currency": order_page["payable"]["currency"],
            "channel": "sandbox",
            "account": account,
            "payment_method": method,
        });
        let key = format!("{name}-{}", self.run);
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
    fn decide(&self, seen: &Seen, method: &str, operator: &str) -> Result<()> {
        let review = seen.review.as_deref();
        let review =
            review.with_context(|| format!("{} is {} but has no review", seen.id, seen.state))?;
        let url = format!("{}/v1/reviews/{review}", self.addresses.http);
        let bearer = self.bearer(operator)?;
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
        println!("  {operator} decides {review}: {}", choice["kind"].as_str().unwrap_or("-"));
        let body = json!({ "version": version, "choice": choice, "reason": "read in the books" });
        let key = format!("decision-{review}-{operator}");
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
    use super::super::scenario::SCENARIOS;
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
}
