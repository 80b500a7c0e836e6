//! The API as a business service uses it.

use serde_json::{Value, json};
use std::time::Duration;

const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// The HTTP API of a world.
#[derive(Clone, Debug)]
pub struct Api {
    http: reqwest::Client,
    port: u16,
}

/// An answer of the API.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub replayed: bool,
    pub body: Value,
}

impl Answer {
    /// A field of the body as text; empty where there is none.
    #[must_use]
    pub fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_default()
    }
}

impl Api {
    #[must_use]
    pub fn new(port: u16) -> Self {
        let http = reqwest::Client::builder().timeout(ANSWER_LIMIT).build();
        Self { http: http.unwrap_or_default(), port }
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// # Panics
    /// When there is no answer.
    pub async fn get(&self, path: &str) -> Answer {
        read(self.http.get(self.url(path)).send().await.expect("the API answers")).await
    }

    /// # Panics
    /// When there is no answer.
    pub async fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        self.post_as(path, key, body, None).await
    }

    /// # Panics
    /// When there is no answer.
    pub async fn post_as(
        &self,
        path: &str,
        key: &str,
        body: &Value,
        token: Option<&str>,
    ) -> Answer {
        let mut request = self.http.post(self.url(path)).header("Idempotency-Key", key).json(body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        read(request.send().await.expect("the API answers")).await
    }
}

impl Api {
    /// A POST with more headers.
    ///
    /// # Panics
    /// When there is no answer.
    pub async fn post_with(
        &self,
        path: &str,
        key: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = self.http.post(self.url(path)).header("Idempotency-Key", key).json(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        read(request.send().await.expect("the API answers")).await
    }

    /// What is answered under this address, as text.
    ///
    /// # Panics
    /// When there is no answer.
    pub async fn text_at(&self, url: &str) -> String {
        let answer = self.http.get(url).send().await.expect("an answer");
        answer.text().await.expect("text")
    }
}

async fn read(response: reqwest::Response) -> Answer {
    let status = response.status().as_u16();
    let replayed = response.headers().contains_key("Idempotent-Replayed");
    let text = response.text().await.unwrap_or_default();
    let body = serde_json::from_str(&text).unwrap_or(json!({ "not_json": text }));
    Answer { status, replayed, body }
}
