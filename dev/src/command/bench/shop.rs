//! The payments of a bench: their orders, their requests, and the proof that each was taken once.
//!
//! Each payment has a payment method of its own, by which its charges are counted in the sandbox's
//! truth.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use dev::http::{self, Answer};
use dev::stack::Addresses;
use serde_json::{Value, json};

use super::load::{Answered, Arrivals, Batch};

const MERCHANT: &str = "demo";
const SKU: &str = "tea";
/// How long a payment may take to its end once everything was sent.
const END_LIMIT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(100);
/// How many faults of a run an error names.
const NAMED: usize = 5;

/// An order that waits for its payment.
struct Order {
    id: String,
    amount: Value,
    currency: Value,
}

/// All payments of a run, the warm-up first.
pub struct Shop<'a> {
    addresses: &'a Addresses,
    stop: &'a AtomicBool,
    orders: Vec<OnceLock<Order>>,
    /// Payment ids and workflow ids by number, of those that were sent.
    paid: Mutex<BTreeMap<usize, (String, String)>>,
}

impl<'a> Shop<'a> {
    pub fn new(addresses: &'a Addresses, payments: usize, stop: &'a AtomicBool) -> Self {
        let orders = (0..payments).map(|_| OnceLock::new()).collect();
        Self { addresses, stop, orders, paid: Mutex::new(BTreeMap::new()) }
    }

    /// Makes the sandbox take so long for each charge.
    pub fn slow_down(&self, latency_ms: u64) -> Result<()> {
        let fault = json!({
            "match": {},
            "operation": "charge",
            "times": self.orders.len(),
            "fault": { "kind": "delay", "ms": latency_ms },
        });
        let url = format!("{}/admin/faults", self.addresses.sandbox);
        let answer = http::post(&url, &[], &fault)?;
        ensure!(answer.status == 201, "set the latency: {}", answer.body);
        Ok(())
    }

    /// One order for each payment.
    pub fn order_all(&self, concurrency: usize) -> Result<Answered> {
        let batch = self.batch("orders", self.orders.len(), concurrency, Arrivals::Closed);
        batch.run(|connection, number| {
            let body = json!({ "merchant": MERCHANT, "items": [{ "sku": SKU, "quantity": 1 }] });
            let key = format!("order-{number:06}");
            let answer = connection.post("/v1/orders", &[("Idempotency-Key", &key)], &body)?;
            let page = expect(&[200, 201], "create an order", &answer)?;
            let order = Order {
                id: text(&page, "id")?,
                amount: page["payable"]["amount"].clone(),
                currency: page["payable"]["currency"].clone(),
            };
            let _ = self.orders[number].set(order); // Each number comes once.
            Ok(())
        })
    }

    /// Pays orders `from` to `from + count`.
    pub fn pay(
        &self,
        from: usize,
        count: usize,
        concurrency: usize,
        arrivals: Arrivals,
    ) -> Result<Answered> {
        self.batch("payments", count, concurrency, arrivals).run(|connection, number| {
            let number = from + number;
            let order = self.orders[number].get().context("the order was not made")?;
            let body = json!({
                "merchant": MERCHANT,
                "order": order.id,
                "amount": order.amount,
                "currency": order.currency,
                "channel": "sandbox",
                "account": "main",
                "payment_method": method(number),
            });
            let key = format!("bench-{number:06}");
            let headers = [("Idempotency-Key", key.as_str())];
            let answer = connection.post("/v1/payment_intents", &headers, &body)?;
            // 202 is an answer too: it took longer than a caller is kept waiting.
            let page = expect(&[200, 202], "pay", &answer)?;
            let ids = (text(&page, "id")?, text(&page, "workflow_id")?);
            self.paid.lock().unwrap_or_else(PoisonError::into_inner).insert(number, ids);
            Ok(())
        })
    }

    /// The workflow of a payment that was sent.
    pub fn workflow(&self, number: usize) -> Option<String> {
        let paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        paid.get(&number).map(|(_, workflow)| workflow.clone())
    }

    /// Fails unless every payment is Persisted and the sandbox took the money and handed over the
    /// goods exactly once for each.
    pub fn check(&self) -> Result<()> {
        let paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        ensure!(paid.len() == self.orders.len(), "{} payments were sent", paid.len());
        let mut wrong = Vec::new();
        let deadline = Instant::now() + END_LIMIT;
        for (payment, _) in paid.values() {
            let state = self.end_of(payment, deadline)?;
            if state != "Persisted" {
                wrong.push(format!("{payment} is {state}"));
            }
        }
        let truth = http::get(&format!("{}/truth", self.addresses.sandbox))?.json()?;
        wrong.extend(faults_in(&truth, &paid)?);
        let more = wrong.len().saturating_sub(NAMED);
        wrong.truncate(NAMED);
        ensure!(wrong.is_empty(), "{} (and {more} more)", wrong.join("; "));
        Ok(())
    }

    fn end_of(&self, payment: &str, deadline: Instant) -> Result<String> {
        let url = format!("{}/v1/payment_intents/{payment}", self.addresses.http);
        loop {
            let state = text(&http::get(&url)?.json()?, "state")?;
            if ["Persisted", "Failed", "Closed"].contains(&state.as_str())
                || Instant::now() >= deadline
            {
                return Ok(state);
            }
            thread::sleep(LOOK);
        }
    }

    fn batch<'b>(
        &'b self,
        name: &'b str,
        requests: usize,
        concurrency: usize,
        arrivals: Arrivals,
    ) -> Batch<'b> {
        let url = &self.addresses.http;
        Batch { name, url, requests, concurrency, arrivals, stop: self.stop }
    }
}

fn method(number: usize) -> String {
    format!("pm_ok_{number:06}")
}

/// What the channel's own books say against the payments.
fn faults_in(truth: &Value, paid: &BTreeMap<usize, (String, String)>) -> Result<Vec<String>> {
    let charges = counts(truth, "charges", "payment_method")?;
    let goods = counts(truth, "fulfilments", "payment")?;
    let mut wrong = Vec::new();
    for (number, (payment, _)) in paid {
        let times = charges.get(method(*number).as_str()).copied().unwrap_or(0);
        if times != 1 {
            wrong.push(format!("{payment} was charged {times} times"));
        }
        let left = goods.get(payment.as_str()).copied().unwrap_or(0);
        if left != 1 {
            wrong.push(format!("goods of {payment} left {left} times"));
        }
    }
    let all: usize = charges.values().sum();
    if all != paid.len() {
        wrong.push(format!("{all} charges for {} payments", paid.len()));
    }
    Ok(wrong)
}

fn counts<'t>(truth: &'t Value, list: &str, field: &str) -> Result<BTreeMap<&'t str, usize>> {
    let list = truth[list].as_array().with_context(|| format!("the truth has no {list}"))?;
    let mut counts = BTreeMap::new();
    for entry in list {
        *counts.entry(entry[field].as_str().unwrap_or_default()).or_default() += 1;
    }
    Ok(counts)
}

pub fn expect(statuses: &[u16], doing: &str, answer: &Answer) -> Result<Value> {
    if !statuses.contains(&answer.status) {
        bail!("{doing}: status {} says {}", answer.status, answer.body);
    }
    answer.json()
}

fn text(page: &Value, field: &str) -> Result<String> {
    Ok(page[field].as_str().with_context(|| format!("no {field} in {page}"))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_charge_or_a_missing_one_is_a_fault() {
        let paid = [(0, "pay_a"), (1, "pay_b")]
            .map(|(number, id)| (number, (id.to_owned(), String::new())))
            .into();
        let charge = |number| json!({ "payment_method": method(number) });
        let goods = [json!({ "payment": "pay_a" }), json!({ "payment": "pay_b" })];
        let truth = json!({ "charges": [charge(0), charge(1)], "fulfilments": goods });
        assert_eq!(faults_in(&truth, &paid).unwrap(), Vec::<String>::new());
        let truth = json!({ "charges": [charge(0), charge(0)], "fulfilments": [goods[0]] });
        let wrong = faults_in(&truth, &paid).unwrap().join("; ");
        for fault in ["pay_a was charged 2", "pay_b was charged 0", "goods of pay_b left 0"] {
            assert!(wrong.contains(fault), "{wrong}");
        }
        assert!(faults_in(&json!({}), &paid).is_err());
    }
}
