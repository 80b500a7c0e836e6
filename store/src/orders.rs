//! A new order: priced from our own data, its stock and coupon reserved, its key recorded, in one
//! transaction. The only writes that the API's role may make.

use crate::Store;
use crate::error::{Doing, StoreError, exactly_one};
use crate::rows::units;
use domain::ids::derive;
use domain::order::{Discount, Freight, PricedLine, Quote, QuoteError};
use domain::{Currency, IdempotencyKey, MerchantId, Money, OrderId, Sku};
use sqlx::PgTransaction;
use std::collections::BTreeMap;

/// How long an order waits for its payment.
pub const CLOSE_AFTER_S: f64 = 900.0;

/// What a customer asks for. Prices are not part of it.
#[derive(Clone, Debug)]
pub struct NewOrder {
    pub merchant: MerchantId,
    pub key: IdempotencyKey,
    /// At least one; a product stands in one line. Sorted, so that locks are taken in one order.
    pub items: BTreeMap<Sku, u32>,
    pub coupon: Option<String>,
}

/// What came of asking for an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placed {
    Created(OrderId),
    /// The same request made it before.
    Existing(OrderId),
    Refused(OrderRefusal),
}

/// Why an order is not made. Nothing is reserved and the key stays free, but for a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderRefusal {
    IdempotencyConflict { field: &'static str },
    UnknownMerchant,
    UnknownProduct { sku: Sku },
    OutOfStock { sku: Sku },
    CouponNotUsable { why: &'static str },
    TotalNotPayable { why: String },
}

impl NewOrder {
    fn items_fingerprint(&self) -> String {
        let lines: Vec<_> = self.items.iter().map(|(sku, n)| format!("{sku} {n}")).collect();
        derive("order items", &lines.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn fingerprint(&self) -> String {
        let coupon = derive("order coupon", &[self.coupon.as_deref().unwrap_or_default()]);
        format!("v1:{}:{coupon}", self.items_fingerprint())
    }
}

#[derive(Debug)]
struct MerchantRow {
    currency: String,
    freight: i64,
    free_freight_from: Option<i64>,
}

/// What an order is made of, once everything was found and fits.
struct Priced {
    quote: Quote,
    lines: Vec<(Sku, String, PricedLine)>,
}

type Outcome<T> = Result<Result<T, OrderRefusal>, StoreError>;

impl Store {
    /// Places an order, or finds the one that the same key placed.
    ///
    /// # Errors
    /// [`StoreError`]; whether it was committed is found out by calling again.
    pub async fn place_order(&self, order: &NewOrder) -> Result<Placed, StoreError> {
        let mut tx = self.pool.begin().await.doing("beginning an order")?;
        let id = OrderId::of(&order.merchant, &order.key);
        let Some(merchant) = read_merchant(&mut tx, &order.merchant).await? else {
            return Ok(Placed::Refused(OrderRefusal::UnknownMerchant));
        };
        if let Some(known) = take_key(&mut tx, order, &id).await? {
            return Ok(known);
        }
        let priced = match price(&mut tx, order, &merchant).await? {
            Ok(priced) => priced,
            Err(refusal) => return Ok(Placed::Refused(refusal)),
        };
        if let Some(refusal) = reserve(&mut tx, order).await? {
            return Ok(Placed::Refused(refusal));
        }
        insert(&mut tx, order, &id, &priced).await?;
        tx.commit().await.doing("committing an order")?;
        Ok(Placed::Created(id))
    }
}

async fn read_merchant(
    tx: &mut PgTransaction<'_>,
    id: &MerchantId,
) -> Result<Option<MerchantRow>, StoreError> {
    sqlx::query_as!(
        MerchantRow,
        r#"-- merchant.read
        SELECT currency, freight, free_freight_from FROM merchant WHERE id = $1"#,
        id.as_str(),
    )
    .fetch_optional(&mut **tx)
    .await
    .doing("reading a merchant")
}

/// Records the key, or answers what it was used for. A second request with the same key waits here
/// for the first one's transaction.
async fn take_key(
    tx: &mut PgTransaction<'_>,
    order: &NewOrder,
    id: &OrderId,
) -> Result<Option<Placed>, StoreError> {
    let inserted = sqlx::query!(
        r#"-- idempotency.take
        INSERT INTO idempotency (merchant_id, operation, key, fingerprint, resource_id)
        VALUES ($1, 'create_order', $2, $3, $4)
        ON CONFLICT (merchant_id, operation, key) DO NOTHING"#,
        order.merchant.as_str(),
        order.key.as_str(),
        order.fingerprint(),
        id.as_str(),
    )
    .execute(&mut **tx)
    .await
    .doing("taking an idempotency key")?;
    if inserted.rows_affected() == 1 {
        return Ok(None);
    }
    let known = sqlx::query_scalar!(
        r#"-- idempotency.read
        SELECT fingerprint FROM idempotency
        WHERE merchant_id = $1 AND operation = 'create_order' AND key = $2"#,
        order.merchant.as_str(),
        order.key.as_str(),
    )
    .fetch_one(&mut **tx)
    .await
    .doing("reading an idempotency key")?;
    if known == order.fingerprint() {
        return Ok(Some(Placed::Existing(id.clone())));
    }
    let same_items = known.starts_with(&format!("v1:{}:", order.items_fingerprint()));
    let field = if same_items { "coupon" } else { "items" };
    Ok(Some(Placed::Refused(OrderRefusal::IdempotencyConflict { field })))
}

fn money(amount: i64, currency: Currency, table: &'static str) -> Result<Money, StoreError> {
    u64::try_from(amount)
        .ok()
        .and_then(|amount| Money::new(amount, currency).ok())
        .ok_or_else(|| StoreError::Inconsistent { table, column: "amount", row: String::new() })
}

async fn price(
    tx: &mut PgTransaction<'_>,
    order: &NewOrder,
    merchant: &MerchantRow,
) -> Outcome<Priced> {
    let currency = Currency::parse(&merchant.currency).map_err(|_| StoreError::Inconsistent {
        table: "merchant",
        column: "currency",
        row: order.merchant.to_string(),
    })?;
    let mut lines = Vec::with_capacity(order.items.len());
    for (sku, quantity) in &order.items {
        let product = sqlx::query!(
            r#"-- product.price
            SELECT name, unit_price FROM product WHERE merchant_id = $1 AND sku = $2"#,
            order.merchant.as_str(),
            sku.as_str(),
        )
        .fetch_optional(&mut **tx)
        .await
        .doing("reading a product")?;
        let Some(product) = product else {
            return Ok(Err(OrderRefusal::UnknownProduct { sku: sku.clone() }));
        };
        let unit_price = money(product.unit_price, currency, "product")?;
        let line = PricedLine { unit_price, quantity: *quantity };
        lines.push((sku.clone(), product.name, line));
    }
    let discount = match read_discount(tx, order, currency).await? {
        Ok(discount) => discount,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let free_from = merchant.free_freight_from;
    let freight = Freight {
        amount: money(merchant.freight, currency, "merchant")?,
        free_from: free_from.map(|from| money(from, currency, "merchant")).transpose()?,
    };
    let priced: Vec<_> = lines.iter().map(|(_, _, line)| *line).collect();
    Ok(match Quote::of(&priced, discount, freight) {
        Ok(quote) => Ok(Priced { quote, lines }),
        Err(QuoteError::BelowMinimum) => {
            Err(OrderRefusal::CouponNotUsable { why: "the goods total is below its minimum" })
        }
        Err(error) => Err(OrderRefusal::TotalNotPayable { why: error.to_string() }),
    })
}

async fn read_discount(
    tx: &mut PgTransaction<'_>,
    order: &NewOrder,
    currency: Currency,
) -> Outcome<Option<Discount>> {
    let Some(code) = &order.coupon else { return Ok(Ok(None)) };
    let coupon = sqlx::query!(
        r#"-- coupon.read
        SELECT amount_off, minimum FROM coupon WHERE merchant_id = $1 AND code = $2"#,
        order.merchant.as_str(),
        code,
    )
    .fetch_optional(&mut **tx)
    .await
    .doing("reading a coupon")?;
    let Some(coupon) = coupon else {
        return Ok(Err(OrderRefusal::CouponNotUsable { why: "there is no such coupon" }));
    };
    Ok(Ok(Some(Discount {
        amount_off: money(coupon.amount_off, currency, "coupon")?,
        minimum: money(coupon.minimum, currency, "coupon")?,
    })))
}

/// Takes stock and coupon out of what is available. Conditional updates in the order of the
/// products: two orders never wait for each other in a circle.
async fn reserve(
    tx: &mut PgTransaction<'_>,
    order: &NewOrder,
) -> Result<Option<OrderRefusal>, StoreError> {
    for (sku, quantity) in &order.items {
        let reserved = sqlx::query!(
            r#"-- stock.reserve
            UPDATE product SET available = available - $3, reserved = reserved + $3
            WHERE merchant_id = $1 AND sku = $2 AND available >= $3"#,
            order.merchant.as_str(),
            sku.as_str(),
            i64::from(*quantity),
        )
        .execute(&mut **tx)
        .await
        .doing("reserving stock")?;
        if reserved.rows_affected() == 0 {
            return Ok(Some(OrderRefusal::OutOfStock { sku: sku.clone() }));
        }
    }
    let Some(code) = &order.coupon else { return Ok(None) };
    let reserved = sqlx::query!(
        r#"-- coupon.reserve
        UPDATE coupon SET available = available - 1, reserved = reserved + 1
        WHERE merchant_id = $1 AND code = $2 AND available >= 1"#,
        order.merchant.as_str(),
        code,
    )
    .execute(&mut **tx)
    .await
    .doing("reserving a coupon")?;
    let used_up = reserved.rows_affected() == 0;
    Ok(used_up.then_some(OrderRefusal::CouponNotUsable { why: "it is used up" }))
}

async fn insert(
    tx: &mut PgTransaction<'_>,
    order: &NewOrder,
    id: &OrderId,
    priced: &Priced,
) -> Result<(), StoreError> {
    let quote = &priced.quote;
    let inserted = sqlx::query!(
        r#"-- orders.insert
        INSERT INTO customer_order
            (id, merchant_id, state, currency, goods_total, discount, freight, payable,
             coupon_code, close_at)
        VALUES ($1, $2, 'AwaitingPayment', $3, $4, $5, $6, $7, $8,
                clock_timestamp() + make_interval(secs => $9))"#,
        id.as_str(),
        order.merchant.as_str(),
        quote.payable.currency().code(),
        units(quote.goods_total),
        units(quote.discount),
        units(quote.freight),
        units(quote.payable),
        order.coupon,
        CLOSE_AFTER_S,
    )
    .execute(&mut **tx)
    .await
    .doing("writing an order")?;
    exactly_one("writing an order", &inserted)?;
    for (sku, name, line) in &priced.lines {
        let line_total = line.unit_price.checked_mul(line.quantity).unwrap_or(line.unit_price);
        let quantity = i32::try_from(line.quantity).unwrap_or(i32::MAX);
        sqlx::query!(
            r#"-- order_item.insert
            INSERT INTO order_item
                (order_id, merchant_id, sku, name, quantity, unit_price, line_total)
            VALUES ($1, $2, $3, $4, $5, $6, $7)"#,
            id.as_str(),
            order.merchant.as_str(),
            sku.as_str(),
            name,
            quantity,
            units(line.unit_price),
            units(line_total),
        )
        .execute(&mut **tx)
        .await
        .doing("writing an order's line")?;
    }
    Ok(())
}
