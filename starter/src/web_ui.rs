//! Links into the Temporal Web UI.

use url::Url;

/// Where the Temporal Web UI is, and whose workflows it shows us.
#[derive(Clone, Debug)]
pub(crate) struct WebUi {
    pub address: Url,
    pub namespace: String,
}

impl WebUi {
    /// The page of a workflow. An id holds a caller's key, which may be any printable text.
    #[must_use]
    pub(crate) fn workflow_page(&self, workflow_id: &str) -> String {
        let address = self.address.as_str().trim_end_matches('/');
        let (namespace, id) = (escape(&self.namespace), escape(workflow_id));
        format!("{address}/namespaces/{namespace}/workflows/{id}")
    }
}

/// A text as one segment of a path.
fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let escaped = |byte: u8| {
        if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_key_holds_a_link_is_one_path() {
        let address = Url::parse("http://127.0.0.1:8233/").expect("valid");
        let ui = WebUi { address, namespace: "default".to_owned() };
        assert_eq!(
            ui.workflow_page("payment/acme/a b?#/%"),
            "http://127.0.0.1:8233/namespaces/default/workflows/payment%2Facme%2Fa%20b%3F%23%2F%25"
        );
    }
}
