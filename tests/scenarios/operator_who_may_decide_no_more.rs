//! A person who may decide is disabled, or gets another token. What proved them proves nothing any
//! more.

use crate::support::world;
use domain::OperatorName;
use domain::operator::TokenDigest;
use serde_json::json;
use store::Store;
use store::operators::{AddedOperator, KnownName};
use tests::World;
use tests::settings::{ALICE, BOB};

/// What the API says to a decision about a review that is not there: 404 to whoever may ask.
async fn asked_with(world: &World, token: &str) -> u16 {
    let review = format!("rev_{}", "a".repeat(26));
    let choice = json!({ "kind": "confirm_not_paid", "evidence": "x" });
    let body = json!({ "version": 1, "choice": choice, "reason": "y" });
    let path = format!("/v1/reviews/{review}/decisions");
    world.api.post_as(&path, "d1", &body, Some(token)).await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_a_disabled_operator_proves_nothing_until_it_is_replaced() {
    let world = world().await;
    let owner = world.database_url(store::migrate::OWNER_ROLE);
    let owner = Store::connect_lazy(&owner, 1).expect("an address");
    let alice = OperatorName::parse("alice").expect("valid");
    let other = TokenDigest::of("another-token-of-alice").expect("a token");
    assert_eq!(asked_with(&world, ALICE).await, 404);
    assert!(owner.disable_operator(&alice).await.expect("disables"));
    assert_eq!(asked_with(&world, ALICE).await, 401);
    let taken = owner.add_operator(&alice, &other, KnownName::Refuse).await;
    assert_eq!(taken.expect("asked"), AddedOperator::NameTaken);
    let bobs = TokenDigest::of(BOB).expect("a token");
    let taken = owner.add_operator(&alice, &bobs, KnownName::Replace).await;
    assert_eq!(taken.expect("asked"), AddedOperator::TokenTaken);
    let replaced = owner.add_operator(&alice, &other, KnownName::Replace).await;
    assert_eq!(replaced.expect("asked"), AddedOperator::Added);
    assert_eq!(asked_with(&world, "another-token-of-alice").await, 404);
    assert_eq!(asked_with(&world, ALICE).await, 401);
    let listed = owner.read_operators().await.expect("lists");
    assert_eq!(listed.len(), 3);
    assert!(listed.iter().all(|operator| operator.disabled_at.is_none()));
}
