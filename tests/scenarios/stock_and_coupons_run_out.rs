//! More customers than pieces on the shelf, and more than there are coupons.

use domain::{
    Actor, ConfirmedMoney, IdempotencyKey, MerchantId, PaymentEvent, PaymentIntent, Sku, UnixMillis,
};
use serde_json::json;
use std::collections::BTreeMap;
use store::orders::{NewOrder, OrderRefusal, Placed};
use store::settle_payment::{Answer, Confirmation};
use tests::{Setup, World};
use tokio::task::JoinSet;

/// Customers at once.
const CROWD: usize = 40;

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

/// So many coupons of five yuan.
async fn coupons(world: &World, available: i64) {
    sqlx::query(
        "INSERT INTO coupon (merchant_id, code, amount_off, minimum, available) \
         VALUES ($1, 'SPRING', 500, 1000, $2)",
    )
    .bind(&world.merchant)
    .bind(available)
    .execute(&world.rows)
    .await
    .expect("coupons");
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
    coupons(&world, 2).await;
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

/// Whoever orders and whoever settles takes product and coupon in the same order: else PostgreSQL
/// ends one of two that wait for each other.
#[tokio::test(flavor = "multi_thread")]
async fn orders_and_settlements_with_one_coupon_never_wait_for_each_other_in_a_circle() {
    let world = world().await;
    coupons(&world, 1_000).await;
    let order = |n: usize| new_order(&world, &format!("o{n}"), 1, Some("SPRING"));
    let placed = place_at_once(&world, (0..CROWD).map(order).collect()).await;
    let paid = placed.iter().map(|placed| settle(&world, placed));
    let more = place_at_once(&world, (CROWD..2 * CROWD).map(order).collect());
    let (_, more) = tokio::join!(futures::future::join_all(paid), more);
    assert_eq!(created(&more), CROWD, "{more:?}");
    let taken: (i64, i64) = sqlx::query_as("SELECT used, reserved FROM coupon")
        .fetch_one(&world.rows)
        .await
        .expect("reads");
    let crowd = i64::try_from(CROWD).expect("fits");
    assert_eq!(taken, (crowd, crowd));
}

/// Brings the money of an order that nobody has paid.
async fn settle(world: &World, placed: &Placed) {
    let Placed::Created(order) = placed else { panic!("{placed:?}") };
    let intent = PaymentIntent::from_json(&json!({
        "merchant": world.merchant, "key": format!("pays {order}"), "order": order,
        "amount": 1_499, "currency": "CNY", "channel": "sandbox", "account": "main",
        "payment_method": "pm_ok",
    }));
    let intent = intent.expect("valid");
    let transaction = order.to_string().try_into().expect("valid");
    let money = ConfirmedMoney { transaction, amount: intent.money };
    let news = Confirmation {
        intent: &intent,
        start_before: UnixMillis(0),
        event: PaymentEvent::MoneyConfirmed { money },
        actor: &Actor::Lookup,
        token: None,
        exchanges: &[],
    };
    let settled = world.store.settle(&news).await.expect("nobody is in the way");
    assert_eq!(settled.answer, Answer::Applied);
}
