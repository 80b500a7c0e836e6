//! How much a request may have. `docs/API.md` and the document are printed from these.

use std::time::Duration;

/// Longest body, in bytes. An order of 100 lines has about 12 KiB.
pub(crate) const MAX_BODY_LEN: usize = 64 * 1024;
/// How long a body may take to arrive.
pub(crate) const ARRIVAL_LIMIT: Duration = Duration::from_secs(10);
/// Most headers; a request through three proxies has about 25. The server below closes the door at
/// 100 of them, or 400 KiB, without a word.
pub(crate) const MAX_HEADERS: usize = 64;
/// Longest sum of all headers' names and values, in bytes.
pub(crate) const MAX_HEADERS_LEN: usize = 16 * 1024;
/// Longest path with its query, in bytes. A list with every filter has about 300.
pub(crate) const MAX_PATH_LEN: usize = 2 * 1024;
/// Longest request id that is taken from a caller, in characters.
pub(crate) const MAX_REQUEST_ID_LEN: usize = 64;
/// Longest code of a coupon, in characters.
pub(crate) const MAX_COUPON_LEN: usize = 64;
/// Most entries on a page of a list.
pub(crate) const MAX_PAGE: u32 = 100;
/// As many if the caller does not say.
pub(crate) const DEFAULT_PAGE: u32 = 20;
