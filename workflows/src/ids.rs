//! Workflow ids, built and read in this file only.

use domain::{IdempotencyKey, MerchantId};

/// The task queue of payments, unless a deployment names another.
pub const PAYMENTS_QUEUE: &str = "payments";

const PAYMENT: &str = "payment/";

/// `payment/{merchant}/{key}`. A merchant has no slash; a key may have some.
#[must_use]
pub fn payment(merchant: &MerchantId, key: &IdempotencyKey) -> String {
    format!("{PAYMENT}{merchant}/{key}")
}

/// The merchant and the key of a payment workflow's id.
#[must_use]
pub fn parse_payment(id: &str) -> Option<(MerchantId, IdempotencyKey)> {
    let (merchant, key) = id.strip_prefix(PAYMENT)?.split_once('/')?;
    Some((MerchantId::parse(merchant).ok()?, IdempotencyKey::parse(key).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_even_when_its_key_has_slashes() {
        let merchant = MerchantId::parse("acme").expect("valid");
        let key = IdempotencyKey::parse("a/b c").expect("valid");
        let id = payment(&merchant, &key);
        assert_eq!(id, "payment/acme/a/b c");
        assert_eq!(parse_payment(&id), Some((merchant, key)));
        assert_eq!(parse_payment("payment/Acme/k"), None);
        assert_eq!(parse_payment("refund/acme/k"), None);
    }

    #[test]
    fn the_longest_id_fits_into_temporals_limit() {
        let merchant = MerchantId::parse("m".repeat(domain::ids::MAX_MERCHANT_LEN)).expect("valid");
        let key = IdempotencyKey::parse("k".repeat(domain::ids::MAX_KEY_LEN)).expect("valid");
        assert!(payment(&merchant, &key).len() <= 255);
    }
}
