//! More customers than pieces on the shelf, and more than there are coupons.

use domain::{IdempotencyKey, MerchantId, Sku};
use std::collections::BTreeMap;
use store::orders::{NewOrder, OrderRefusal, Placed};
use tests::{Setup, World};
use tokio::task::JoinSet;

async fn world() -> World {
    World::start(Setup { workers: 0, api: false, ..Setup::default() }).await
}

fn new_order(world: &World, key: &str, quantity: u32, coupon: Option<&str>) -> NewOrder {
    NewOrder {
        merchant: MerchantId::parse(world.merchant.clone()).expect("valid"),
        key: IdempotencyKey::parse(key).expect("valid"),
        items: BTreeMap::from([(Sku::parse("tea").expect("valid"), quantity)]),
        coupon: coupon.map(str::to_owned),
    }
}

async fn place_at_once(world: &World, orders: Vec<NewOrder>) -> Vec<Placed> {
    let mut placing = JoinSet::new();
    for order in orders {
        let store = world.store.clone();
        placing.spawn(async move { store.place_order(&order).await.expect("answers") });
    }
    placing.join_all().await
}

fn created(placed: &[Placed]) -> usize {
    placed.iter().filter(|placed| matches!(placed, Placed::Created(_))).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_piece_is_sold_twice() {
    let world = world().await;
    sqlx::query("UPDATE product SET available = 3, reserved = 0, sold = 997")
        .execute(&world.rows)
        .await
        .expect("three are left");
    let orders = (0..20).map(|n| new_order(&world, &format!("o{n}"), 1, None)).collect();
    let placed = place_at_once(&world, orders).await;
    assert_eq!(created(&placed), 3, "{placed:?}");
    let refused =
        |placed: &&Placed| matches!(placed, Placed::Refused(OrderRefusal::OutOfStock { .. }));
    assert_eq!(placed.iter().filter(refused).count(), 17, "{placed:?}");
    let left: (i64, i64) = sqlx::query_as("SELECT available, reserved FROM product")
        .fetch_one(&world.rows)
        .await
        .expect("reads");
    assert_eq!(left, (0, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coupon_is_taken_as_often_as_it_is_there_and_priced_by_us() {
    let world = world().await;
    sqlx::query(
        "INSERT INTO coupon (merchant_id, code, amount_off, minimum, available) \
         VALUES ($1, 'SPRING', 500, 1000, 2)",
    )
    .bind(&world.merchant)
    .execute(&world.rows)
    .await
    .expect("two coupons");
    let orders = (0..6).map(|n| new_order(&world, &format!("o{n}"), 1, Some("SPRING"))).collect();
    let placed = place_at_once(&world, orders).await;
    assert_eq!(created(&placed), 2, "{placed:?}");
    let payable: Vec<i64> = sqlx::query_scalar("SELECT payable FROM customer_order")
        .fetch_all(&world.rows)
        .await
        .expect("reads");
    assert_eq!(payable, [1_499, 1_499]);
    let unknown = world.store.place_order(&new_order(&world, "x", 1, Some("AUTUMN"))).await;
    let unknown = unknown.expect("answers");
    assert!(matches!(unknown, Placed::Refused(OrderRefusal::CouponNotUsable { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_at_once_is_one_order_and_one_reservation() {
    let world = world().await;
    let orders = (0..20).map(|_| new_order(&world, "same", 2, None)).collect();
    let placed = place_at_once(&world, orders).await;
    assert_eq!(created(&placed), 1, "{placed:?}");
    let reserved: i64 = sqlx::query_scalar("SELECT reserved FROM product")
        .fetch_one(&world.rows)
        .await
        .expect("reads");
    assert_eq!(reserved, 2);
    let other = world.store.place_order(&new_order(&world, "same", 3, None)).await;
    let conflict = OrderRefusal::IdempotencyConflict { field: "items" };
    assert_eq!(other.expect("answers"), Placed::Refused(conflict));
}
