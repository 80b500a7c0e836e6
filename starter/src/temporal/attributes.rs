//! Whether the search attributes that payments are found by are registered.

use super::{Temporal, TemporalError, raw};
use std::time::Duration;
use temporalio_common::protos::temporal::api::operatorservice::v1::ListSearchAttributesRequest;
use tokio::time::Instant;

const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

impl Temporal {
    /// The names of the attributes that are not registered, or not with their type. Waits for the
    /// connection as long as `limit`.
    ///
    /// # Errors
    /// [`TemporalError`].
    pub(crate) async fn missing_attributes(
        &self,
        limit: Duration,
    ) -> Result<Vec<&'static str>, TemporalError> {
        let doing = "listing search attributes";
        let until = Instant::now() + limit;
        while self.client.get().is_none() && Instant::now() < until {
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        let mut service = self.client(doing)?.connection().operator_service();
        let namespace = self.settings.namespace.clone();
        let request = raw(ListSearchAttributesRequest { namespace });
        let listed = service
            .list_search_attributes(request)
            .await
            .map_err(|status| TemporalError::of(doing, status))?
            .into_inner()
            .custom_attributes;
        let wanted = workflows::attributes::ALL.into_iter();
        let is_there = |(name, kind): &(&str, _)| listed.get(*name) == Some(&(*kind as i32));
        Ok(wanted.filter(|one| !is_there(one)).map(|(name, _)| name).collect())
    }
}
