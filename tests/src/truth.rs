//! The channel's own side: its faults and its truth, reached by HTTP only.

use serde_json::{Value, json};

/// The sandbox process of a world.
#[derive(Clone, Debug)]
pub struct Sandbox {
    http: reqwest::Client,
    port: u16,
    fulfilment_port: u16,
}

/// What really happened at the channel.
#[derive(Clone, Debug)]
pub struct Truth(pub Value);

impl Sandbox {
    #[must_use]
    pub fn at(port: u16, fulfilment_port: u16) -> Self {
        Self { http: reqwest::Client::new(), port, fulfilment_port }
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    #[must_use]
    pub fn fulfilment_port(&self) -> u16 {
        self.fulfilment_port
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    #[must_use]
    pub fn fulfilment_url(&self) -> String {
        format!("http://127.0.0.1:{}/fulfilments", self.fulfilment_port)
    }

    /// Plans a fault for the next `times` requests of this operation that match.
    ///
    /// # Panics
    /// When the sandbox refuses it.
    pub async fn fault(&self, operation: &str, matching: Value, times: u32, fault: Value) {
        let body =
            json!({ "match": matching, "operation": operation, "times": times, "fault": fault });
        let url = format!("{}/admin/faults", self.url());
        let answer = self.http.post(url).json(&body).send().await.expect("the sandbox answers");
        let status = answer.status();
        let text = answer.text().await.unwrap_or_default();
        assert_eq!(status.as_u16(), 201, "planning {body}: {text}");
    }

    /// The payer pays the oldest charge under this reference that is open.
    ///
    /// # Panics
    /// When none is open.
    pub async fn pay(&self, account: &str, reference: &str) -> Value {
        self.admin(&format!("/admin/pay/{account}/{reference}"), &Value::Null, 200).await
    }

    /// The payer pays, if they still may.
    ///
    /// # Panics
    /// When the sandbox does not answer.
    pub async fn try_pay(&self, account: &str, reference: &str) {
        let url = format!("{}/admin/pay/{account}/{reference}", self.url());
        self.http.post(url).json(&Value::Null).send().await.expect("the sandbox answers");
    }

    /// No fault that was planned happens any more.
    ///
    /// # Panics
    /// When the sandbox does not answer.
    pub async fn end_faults(&self) {
        let url = format!("{}/admin/faults", self.url());
        let answer = self.http.delete(url).send().await.expect("the sandbox answers");
        assert_eq!(answer.status().as_u16(), 204);
    }

    /// Money moves whatever the channel said before: a payment that comes late. Where money moved
    /// already, it moves a second time.
    ///
    /// # Panics
    /// When nothing was ever asked for under this reference.
    pub async fn pay_anyway(&self, account: &str, reference: &str) -> Value {
        let path = format!("/admin/pay/{account}/{reference}?force=true");
        self.admin(&path, &Value::Null, 200).await
    }

    /// The channel says so, under its signature, to every request of this account, or of all.
    ///
    /// # Panics
    /// When the sandbox refuses it.
    pub async fn maintenance(&self, account: Option<&str>, seconds: u32) {
        let body = json!({ "account": account, "seconds": seconds });
        self.admin("/admin/maintenance", &body, 201).await;
    }

    /// # Panics
    /// When the sandbox does not answer.
    pub async fn end_maintenance(&self) {
        let url = format!("{}/admin/maintenance", self.url());
        let answer = self.http.delete(url).send().await.expect("the sandbox answers");
        assert_eq!(answer.status().as_u16(), 204);
    }

    async fn admin(&self, path: &str, body: &Value, expected: u16) -> Value {
        let url = format!("{}{path}", self.url());
        let answer = self.http.post(url).json(body).send().await.expect("the sandbox answers");
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap_or_default();
        assert_eq!(status, expected, "{path} {body}: {text}");
        serde_json::from_str(&text).expect("an answer is JSON")
    }

    /// # Panics
    /// When the sandbox does not answer.
    pub async fn truth(&self) -> Truth {
        let url = format!("{}/truth", self.url());
        let answer = self.http.get(url).send().await.expect("the sandbox answers");
        Truth(answer.json().await.expect("the truth is JSON"))
    }
}

impl Truth {
    fn list(&self, name: &str) -> &[Value] {
        self.0[name].as_array().map_or(&[], Vec::as_slice)
    }

    /// Charges that moved money.
    #[must_use]
    pub fn charges(&self) -> &[Value] {
        self.list("charges")
    }

    /// Every charge as the channel has it, whether or not money moved.
    #[must_use]
    pub fn objects(&self) -> &[Value] {
        self.list("objects")
    }

    #[must_use]
    pub fn fulfilments(&self) -> &[Value] {
        self.list("fulfilments")
    }

    #[must_use]
    pub fn requests(&self) -> &[Value] {
        self.list("requests")
    }

    /// How often an operation was asked for, whatever came of it.
    #[must_use]
    pub fn count(&self, operation: &str) -> usize {
        self.requests().iter().filter(|request| request["operation"] == operation).count()
    }
}
