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
