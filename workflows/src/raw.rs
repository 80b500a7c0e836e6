//! Inputs, signals and updates come from any client in any language. They are taken as they are
//! and read here, so that what cannot be read is a typed refusal and never a task that fails for
//! ever.

use serde_json::Value;
use temporalio_common::data_converters::RawValue;

/// Longest input that is read, in bytes. A full intent has about 500.
pub const MAX_INPUT_LEN: usize = 16 * 1024;

/// Reads the one JSON argument of an input, a signal or an update.
///
/// # Errors
/// A sentence for the caller.
pub fn parse_json(raw: &RawValue) -> Result<Value, String> {
    let [payload] = raw.payloads.as_slice() else {
        return Err(format!("expected one JSON argument, got {}", raw.payloads.len()));
    };
    if payload.data.len() > MAX_INPUT_LEN {
        return Err(format!("the argument is longer than {MAX_INPUT_LEN} bytes"));
    }
    serde_json::from_slice(&payload.data).map_err(|_| "the argument is not JSON".to_owned())
}

/// Reads the one JSON argument as a known shape.
///
/// # Errors
/// A sentence for the caller that names what does not fit.
pub fn parse<T: serde::de::DeserializeOwned>(raw: &RawValue) -> Result<T, String> {
    serde_json::from_value(parse_json(raw)?).map_err(|error| error.to_string())
}
