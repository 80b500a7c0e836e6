//! Merchants and what they sell, as an administrator loads them. Written with the owner's role; the
//! API only reads prices and reserves stock.

use crate::Store;
use crate::error::{Doing, StoreError};
use domain::{Currency, MerchantId, Money, Sku};

/// A merchant with its freight rule.
#[derive(Clone, Debug)]
pub struct Merchant {
    pub id: MerchantId,
    pub name: String,
    pub currency: Currency,
    pub freight: i64,
    pub free_freight_from: Option<i64>,
}

/// A product at its present price. `stock` is what is available when it is new.
#[derive(Clone, Debug)]
pub struct Product {
    pub merchant: MerchantId,
    pub sku: Sku,
    pub name: String,
    pub unit_price: Money,
    pub stock: i64,
}

/// A coupon that takes a fixed amount off.
#[derive(Clone, Debug)]
pub struct Coupon {
    pub merchant: MerchantId,
    pub code: String,
    pub amount_off: i64,
    pub minimum: i64,
    pub count: i64,
}

impl Store {
    /// Loads a catalog. What is there already gets its new name and price; stock and coupons that
    /// are there stay as they are.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is loaded then.
    pub async fn load_catalog(
        &self,
        merchants: &[Merchant],
        products: &[Product],
        coupons: &[Coupon],
    ) -> Result<(), StoreError> {
        let mut tx = self.pool.begin().await.doing("beginning to load a catalog")?;
        for merchant in merchants {
            sqlx::query!(
                r#"-- catalog.merchant
                INSERT INTO merchant (id, name, currency, freight, free_freight_from)
                VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (id) DO UPDATE
                SET name = $2, freight = $4, free_freight_from = $5"#,
                merchant.id.as_str(),
                merchant.name,
                merchant.currency.code(),
                merchant.freight,
                merchant.free_freight_from,
            )
            .execute(&mut *tx)
            .await
            .doing("loading a merchant")?;
        }
        for product in products {
            sqlx::query!(
                r#"-- catalog.product
                INSERT INTO product (merchant_id, sku, name, unit_price, available)
                VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (merchant_id, sku) DO UPDATE SET name = $3, unit_price = $4"#,
                product.merchant.as_str(),
                product.sku.as_str(),
                product.name,
                crate::rows::units(product.unit_price),
                product.stock,
            )
            .execute(&mut *tx)
            .await
            .doing("loading a product")?;
        }
        for coupon in coupons {
            sqlx::query!(
                r#"-- catalog.coupon
                INSERT INTO coupon (merchant_id, code, amount_off, minimum, available)
                VALUES ($1, $2, $3, $4, $5) ON CONFLICT (merchant_id, code) DO NOTHING"#,
                coupon.merchant.as_str(),
                coupon.code,
                coupon.amount_off,
                coupon.minimum,
                coupon.count,
            )
            .execute(&mut *tx)
            .await
            .doing("loading a coupon")?;
        }
        tx.commit().await.doing("committing a catalog")
    }
}
