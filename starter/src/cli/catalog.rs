//! `oncepay catalog import`: loads merchants, products and coupons from a file, as the owner of
//! the database. What is there gets its new name and price; stock that is there stays.

use super::say;
use crate::settings::DatabaseArgs;
use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use domain::{Currency, MerchantId, Money, Sku};
use secrecy::ExposeSecret;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use store::Store;
use store::catalog::{Coupon, Merchant, Product};

#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    /// Load merchants, products and coupons from a JSON file.
    Import(ImportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The JSON file: `{"merchants":[…],"products":[…],"coupons":[…]}`.
    file: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogFile {
    merchants: Vec<MerchantEntry>,
    #[serde(default)]
    products: Vec<ProductEntry>,
    #[serde(default)]
    coupons: Vec<CouponEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MerchantEntry {
    id: MerchantId,
    name: String,
    currency: Option<Currency>,
    #[serde(default)]
    freight: u32,
    free_freight_from: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProductEntry {
    merchant: MerchantId,
    sku: Sku,
    name: String,
    unit_price: u64,
    currency: Currency,
    stock: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CouponEntry {
    merchant: MerchantId,
    code: String,
    amount_off: u64,
    minimum: u64,
    count: u32,
}

/// A catalog that fits together.
#[derive(Debug)]
struct Catalog {
    merchants: Vec<Merchant>,
    products: Vec<Product>,
    coupons: Vec<Coupon>,
}

/// # Errors
/// What is wrong in the file, or why the database did not take it. Nothing is loaded then.
pub(crate) async fn run(command: &CatalogCommand) -> anyhow::Result<()> {
    let CatalogCommand::Import(args) = command;
    let url = args.database.read()?;
    let file = args.file.display();
    let text = std::fs::read(&args.file).with_context(|| format!("reading {file}"))?;
    let catalog = read(&text).with_context(|| format!("reading {file}"))?;
    let store = Store::connect_lazy(url.expose_secret(), 1).context("ONCEPAY_DATABASE_URL")?;
    store.load_catalog(&catalog.merchants, &catalog.products, &catalog.coupons).await?;
    store.close().await;
    say(&format!(
        "Loaded {} merchants, {} products, {} coupons.",
        catalog.merchants.len(),
        catalog.products.len(),
        catalog.coupons.len(),
    ));
    Ok(())
}

fn read(text: &[u8]) -> anyhow::Result<Catalog> {
    let file: CatalogFile = serde_json::from_slice(text)?;
    let mut currencies = BTreeMap::new();
    let mut merchants = Vec::with_capacity(file.merchants.len());
    for entry in file.merchants {
        let merchant = merchant(entry)?;
        currencies.insert(merchant.id.clone(), merchant.currency);
        merchants.push(merchant);
    }
    let mut products = Vec::with_capacity(file.products.len());
    for entry in file.products {
        // A merchant that is not in the file is in the database, or the database refuses it.
        let other = currencies.get(&entry.merchant).filter(|known| **known != entry.currency);
        ensure!(
            other.is_none(),
            "product {} of {} is not in the merchant's currency",
            entry.sku,
            entry.merchant,
        );
        products.push(product(entry)?);
    }
    let coupons = file.coupons.into_iter().map(coupon).collect::<anyhow::Result<_>>()?;
    Ok(Catalog { merchants, products, coupons })
}

fn merchant(entry: MerchantEntry) -> anyhow::Result<Merchant> {
    let currency = match entry.currency {
        Some(currency) => currency,
        None => Currency::parse("CNY")?,
    };
    Ok(Merchant {
        currency,
        freight: i64::from(entry.freight),
        free_freight_from: entry.free_freight_from.map(units).transpose()?,
        id: entry.id,
        name: entry.name,
    })
}

fn product(entry: ProductEntry) -> anyhow::Result<Product> {
    let unit_price = Money::new(entry.unit_price, entry.currency)
        .with_context(|| format!("unit_price of {} of {}", entry.sku, entry.merchant))?;
    Ok(Product {
        merchant: entry.merchant,
        sku: entry.sku,
        name: entry.name,
        unit_price,
        stock: i64::from(entry.stock),
    })
}

fn coupon(entry: CouponEntry) -> anyhow::Result<Coupon> {
    Ok(Coupon {
        amount_off: units(entry.amount_off)?,
        minimum: units(entry.minimum)?,
        count: i64::from(entry.count),
        merchant: entry.merchant,
        code: entry.code,
    })
}

fn units(amount: u64) -> anyhow::Result<i64> {
    ensure!(amount <= domain::money::MAX_MINOR_UNITS, "{amount} minor units are too many");
    Ok(i64::try_from(amount)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn sample() -> Value {
        json!({
            "merchants": [{ "id": "demo", "name": "Demo Shop" }],
            "products": [{
                "merchant": "demo", "sku": "tea", "name": "Tea", "unit_price": 1999,
                "currency": "CNY", "stock": 10,
            }],
            "coupons": [{
                "merchant": "demo", "code": "TEN", "amount_off": 1000, "minimum": 0, "count": 5,
            }],
        })
    }

    #[test]
    fn a_catalog_is_read_with_its_defaults() {
        let catalog = read(sample().to_string().as_bytes()).expect("valid");
        assert_eq!(catalog.merchants[0].currency.code(), "CNY");
        assert_eq!(catalog.merchants[0].freight, 0);
        assert_eq!(catalog.products[0].unit_price.minor_units(), 1999);
        assert_eq!(catalog.coupons[0].count, 5);
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        for (list, field, value, told) in [
            ("products", "currency", json!("USD"), "tea of demo"),
            ("products", "stock", json!(-1), "invalid value"),
            ("products", "unit_price", json!(19.99), "floating point"),
            ("products", "unit_price", json!(1_u64 << 53), "unit_price of tea"),
            ("products", "colour", json!("red"), "colour"),
            ("merchants", "id", json!("Demo"), "merchant must be"),
            ("coupons", "amount_off", json!(1_u64 << 53), "too many"),
        ] {
            let mut file = sample();
            file[list][0][field] = value;
            let error = format!("{:#}", read(file.to_string().as_bytes()).expect_err(told));
            assert!(error.contains(told), "{error}");
        }
    }
}
